import HTTPTypes
import MessageBus
import Messages
import ParseProtocol

/// `POST /mails/<id>`: the HTML part of a mail as a page of its own, which the dashboard shows in a frame.
///
/// A form posts the session, because a frame sends no headers and a URL is logged. No script runs in the page, and it
/// loads nothing: a mail of cloud code may hold any markup.
struct MailController: Sendable {
    let services: ServiceClient

    private static let headers: HTTPFields = [
        headerName("Content-Security-Policy"):
            "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
        headerName("Referrer-Policy"): "no-referrer",
        headerName("X-Frame-Options"): "SAMEORIGIN",
        headerName("X-Content-Type-Options"): "nosniff",
        .cacheControl: "no-store",
    ]

    func page(_ id: String, _ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let parameters: JSON = ["id": Int64(id).map(JSON.int) ?? .null]
        let reply = try await services.read(
            ObjectCalls(of: "mail").function("mailContent"), FunctionRequest.with { $0.name = "mailContent" },
            documents: [parameters.serialized], for: principal, in: request.call)
        let mail = try JSON(reply: try reply.document, in: request.call)
        var response = ParseResponse(html: mail["html"]?.stringValue ?? "")
        response.headers.append(contentsOf: Self.headers)
        return response
    }
}
