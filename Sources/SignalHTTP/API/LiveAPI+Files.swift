// SPDX-License-Identifier: MIT

/// The files of the server (`docs/protocol.md` §2.5, §11): descriptions, the console, the client for JavaScript.
extension LiveAPI {
  func answer(
    _ file: EmbeddedFile, _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) {
    _ = try Query(head, [])
    for tag in [file.tag, file.tagOfGzip] where try names(tag, head) {
      // With the policy of the page, which a browser takes from here as well (RFC 9111 §4.3.4).
      response.begin(.notModified, isPage: file.isPage)
      response.field("ETag", tag)
      appendCacheControl(&response)
      return response.endWithoutBody()
    }
    let content = response.encode(file.bytes)
    response.begin(.ok, isPage: file.isPage)
    response.field("Content-Type", file.mediaType)
    response.field("ETag", content.isGzip ? file.tagOfGzip : file.tag)
    appendCacheControl(&response)
    response.end(content)
  }

  /// Whether the client has the content with this tag.
  private func names(_ tag: [UInt8], _ head: borrowing RequestHead) throws(APIError) -> Bool {
    try entityTags { () throws(HTTPParseError) in
      try tag.withView { tag throws(HTTPParseError) in
        try head.entityTags(in: .ifNoneMatch, contain: tag, by: .weak) == true
      }
    }
  }
}
