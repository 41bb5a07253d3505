import HTTPTypes

extension ParseResponse {
    /// The response to a browser while `web`, which has the pages, is away.
    static let unavailablePage: ParseResponse = {
        var response = ParseResponse(
            status: 503,
            html: """
                <!DOCTYPE html>
                <html lang="en">
                <head><meta charset="utf-8"><title>Not available</title></head>
                <body><main><h1>Not available</h1>
                <p>This page is not available at the moment. Try again in a few seconds.</p></main></body>
                </html>

                """)
        response.headers.append(contentsOf: pageHeaders)
        response.retryAfterSeconds = 5
        return response
    }()

    /// The headers of pages behind mailed links. Their URLs hold a token: such a page must not be cached, framed or
    /// sent as a referrer, and no script may run in it.
    static let pageHeaders: HTTPFields = [
        headerName("Content-Security-Policy"):
            """
        default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        """,
        headerName("Referrer-Policy"): "no-referrer",
        headerName("X-Frame-Options"): "DENY",
        headerName("X-Content-Type-Options"): "nosniff",
        .cacheControl: "no-store",
    ]
}
