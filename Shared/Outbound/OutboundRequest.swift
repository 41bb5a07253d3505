/// An HTTP request to a provider.
public struct OutboundRequest: Sendable {
    /// The HTTP methods of requests to providers.
    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    /// The versions of HTTP that a request may ask for.
    public enum Version: Sendable {
        /// HTTP/1.1, or HTTP/2 where TLS negotiates it.
        case automatic
        /// HTTP/2 from the first byte, so that requests to a host share one connection. Over `http://` without
        /// negotiation.
        case http2
    }

    /// The HTTP method.
    public var method: Method
    /// `http://` or `https://` only; redirects are not followed.
    public var url: String
    /// Names and values without line breaks; a value may be a secret and is never logged.
    public var headers: [(name: String, value: String)]
    /// The body; empty for none.
    public var body: [UInt8]
    /// The version of HTTP.
    public var version = Version.automatic
    /// From the call to the last byte of the response; at least 1 ms.
    public var timeout: Duration
    /// Limit of the response; a larger one fails the request.
    public var answerBytesMax = 1 << 20
    /// Whether the peer recognises a repeated request, for example by an idempotency key. Then the request may use a
    /// kept connection; if that turns out to be closed, libcurl repeats the request on a new one (RFC 9110, section
    /// 9.2.2). True unless it is a POST.
    public var isRepeatable: Bool
    /// Bypasses the proxy from the environment (`http_proxy`), for internal servers.
    public var isDirect = false

    /// A request over any version of HTTP, repeatable unless it is a POST.
    public init(
        _ method: Method = .get, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        timeout: Duration = .seconds(30)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        isRepeatable = method != .post
    }
}

/// A provider's response, whatever its status.
public struct OutboundResponse: Sendable {
    /// The HTTP status, 100 to 599.
    public let status: Int
    /// Names in lower case; the last value of a repeated header.
    public let headers: [String: String]
    /// The body, at most `OutboundRequest.answerBytesMax` bytes.
    public let body: [UInt8]

    /// A response, as created by a provider's test double. Header names must be in lower case.
    public init(status: Int, headers: [String: String] = [:], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// A mail for an SMTP server.
public struct OutboundMail: Sendable {
    /// The encryption options for SMTP.
    public enum Encryption: Sendable {
        /// Never; for servers on the same host.
        case none
        /// STARTTLS if the server offers it.
        case opportunistic
        /// STARTTLS is required. With `smtps://` the connection is encrypted from the start.
        case required
    }

    /// `smtp://host:587` or `smtps://host:465`.
    public var url: String
    /// Nil for a server without authentication. The password is never logged.
    public var login: (user: String, password: String)?
    /// Encryption is required by default.
    public var encryption = Encryption.required
    /// The envelope sender: an address without a name or brackets.
    public var sender: String
    /// The envelope recipients: addresses without names or brackets, at least one.
    public var recipients: [String]
    /// Headers and body with CRLF line ends.
    public var message: [UInt8]
    /// From connecting to the server's last reply.
    public var timeout = Duration.seconds(60)

    /// A mail without authentication, over an encrypted connection.
    public init(url: String, sender: String, recipients: [String], message: [UInt8]) {
        self.url = url
        self.sender = sender
        self.recipients = recipients
        self.message = message
    }
}
