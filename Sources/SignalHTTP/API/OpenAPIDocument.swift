// SPDX-License-Identifier: MIT

/// The description of the HTTP interface for programs (OpenAPI 3.1), as `/openapi.yaml` serves it: `docs/openapi.yaml`.
enum OpenAPIDocument {
  /// The document.
  static let bytes: [UInt8] = {
    var bytes: [UInt8] = []
    bytes.append(properties)
    bytes.append(paths)
    bytes.append(components)
    return bytes
  }()
}
