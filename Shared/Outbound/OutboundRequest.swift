/// An HTTP request to a provider.
public struct OutboundRequest: Sendable {
    /// The HTTP methods that providers are asked with.
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
        /// HTTP/2 from the first byte: requests to a host share one connection. Over `http://` without negotiation.
        case http2
    }

    /// The HTTP method.
    public var method: Method
    /// `http://` or `https://`; nothing else is fetched, and redirects are not followed.
    public var url: String
    /// Names and values without line breaks; a value may be a secret and is never logged.
    public var headers: [(name: String, value: String)]
    /// The body as it is sent; empty for none.
    public var body: [UInt8]
    /// The version of HTTP.
    public var version = Version.automatic
    /// From the call to the last byte of the answer, 1 ms at least.
    public var timeout: Duration
    /// A longer answer fails the request.
    public var answerBytesMax = 1 << 20
    /// Whether the peer recognises the request when it comes twice, as by an idempotency key. Then it may take a kept
    /// connection, and when that turns out to have ended libcurl repeats it on a new one (RFC 9110, section 9.2.2).
    /// True unless it is a POST.
    public var isRepeatable: Bool
    /// Past the proxy that the environment names (`http_proxy`): for what is not the world outside.
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

/// A provider's answer, whatever its status.
public struct OutboundResponse: Sendable {
    /// The HTTP status, 100 to 599.
    public let status: Int
    /// Names in lower case; of a repeated header the last value.
    public let headers: [String: String]
    /// The body, at most `OutboundRequest.answerBytesMax` bytes.
    public let body: [UInt8]

    /// An answer as a provider's double gives it. Names of headers are in lower case.
    public init(status: Int, headers: [String: String] = [:], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// A mail for an SMTP server.
public struct OutboundMail: Sendable {
    /// The choices of encryption towards an SMTP server.
    public enum Encryption: Sendable {
        /// Never; for servers on the same host.
        case none
        /// STARTTLS when the server offers it.
        case opportunistic
        /// STARTTLS, or no mail. With `smtps://` the connection is encrypted from the start anyway.
        case required
    }

    /// `smtp://host:587` or `smtps://host:465`.
    public var url: String
    /// Nil for a server that asks for none. The password is never logged.
    public var login: (user: String, password: String)?
    /// Encrypted or no mail, unless set otherwise.
    public var encryption = Encryption.required
    /// The envelope's sender and recipients: addresses without names or brackets.
    public var sender: String
    /// Addresses without names or brackets, one at least.
    public var recipients: [String]
    /// Headers and body with CRLF line ends.
    public var message: [UInt8]
    /// From the connection to the server's last reply.
    public var timeout = Duration.seconds(60)

    /// A mail without a login, over an encrypted connection.
    public init(url: String, sender: String, recipients: [String], message: [UInt8]) {
        self.url = url
        self.sender = sender
        self.recipients = recipients
        self.message = message
    }
}
