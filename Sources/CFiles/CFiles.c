// SPDX-License-Identifier: MIT
#include "CFiles.h"

// `#embed` is of C23; the compiler of Swift's toolchain knows it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t openapi_yaml[] = {
#embed "../SignalHTTP/API/openapi.yaml"
};
static const uint8_t asyncapi_yaml[] = {
#embed "../SignalHTTP/API/asyncapi.yaml"
};
static const uint8_t messages_schema_json[] = {
#embed "../SignalHTTP/API/messages.schema.json"
};
static const uint8_t client_js[] = {
#embed "../../Clients/javascript/signal-client.js"
};
static const uint8_t client_d_ts[] = {
#embed "../../Clients/javascript/signal-client.d.ts"
};
static const uint8_t console_api_js[] = {
#embed "console/api.js"
};
static const uint8_t console_app_js[] = {
#embed "console/app.js"
};
static const uint8_t console_chart_js[] = {
#embed "console/chart.js"
};
static const uint8_t console_clients_js[] = {
#embed "console/clients.js"
};
static const uint8_t console_console_css[] = {
#embed "console/console.css"
};
static const uint8_t console_dom_js[] = {
#embed "console/dom.js"
};
static const uint8_t console_expressions_js[] = {
#embed "console/expressions.js"
};
static const uint8_t console_icon_svg[] = {
#embed "console/icon.svg"
};
static const uint8_t console[] = {
#embed "console/index.html"
};
static const uint8_t console_levels_js[] = {
#embed "console/levels.js"
};
static const uint8_t console_metrics_js[] = {
#embed "console/metrics.js"
};
static const uint8_t console_properties_js[] = {
#embed "console/properties.js"
};
static const uint8_t console_property_js[] = {
#embed "console/property.js"
};
static const uint8_t console_rows_js[] = {
#embed "console/rows.js"
};
static const uint8_t console_server_js[] = {
#embed "console/server.js"
};
static const uint8_t console_signals_js[] = {
#embed "console/signals.js"
};
static const uint8_t console_snippets_js[] = {
#embed "console/snippets.js"
};
static const uint8_t console_values_js[] = {
#embed "console/values.js"
};

#define FILE_AT(path, bytes) {path, bytes, sizeof bytes}

static const cfiles_file files[] = {
    FILE_AT("/openapi.yaml", openapi_yaml),
    FILE_AT("/asyncapi.yaml", asyncapi_yaml),
    FILE_AT("/messages.schema.json", messages_schema_json),
    FILE_AT("/client.js", client_js),
    FILE_AT("/client.d.ts", client_d_ts),
    FILE_AT("/console/api.js", console_api_js),
    FILE_AT("/console/app.js", console_app_js),
    FILE_AT("/console/chart.js", console_chart_js),
    FILE_AT("/console/clients.js", console_clients_js),
    FILE_AT("/console/console.css", console_console_css),
    FILE_AT("/console/dom.js", console_dom_js),
    FILE_AT("/console/expressions.js", console_expressions_js),
    FILE_AT("/console/icon.svg", console_icon_svg),
    FILE_AT("/console", console),
    FILE_AT("/console/levels.js", console_levels_js),
    FILE_AT("/console/metrics.js", console_metrics_js),
    FILE_AT("/console/properties.js", console_properties_js),
    FILE_AT("/console/property.js", console_property_js),
    FILE_AT("/console/rows.js", console_rows_js),
    FILE_AT("/console/server.js", console_server_js),
    FILE_AT("/console/signals.js", console_signals_js),
    FILE_AT("/console/snippets.js", console_snippets_js),
    FILE_AT("/console/values.js", console_values_js),
};

size_t cfiles_count(void) { return sizeof files / sizeof files[0]; }

cfiles_file cfiles_at(size_t index) { return files[index]; }
