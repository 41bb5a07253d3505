import CCurl
import Foundation

/// One running request or mail: a curl easy handle and the received data. Used only on the transfer thread.
final class Transfer {
    enum Work: Sendable {
        case http(OutboundRequest)
        case mail(OutboundMail)
    }

    struct Outcome: Sendable {
        let status: Int
        let headers: [String: String]
        let body: [UInt8]
    }

    let handle: UnsafeMutableRawPointer
    private let isMail: Bool
    private let answerBytesMax: Int
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private var headers: [String: String] = [:]
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var upload: ArraySlice<UInt8> = []
    private var dialogue = MailDialogue()

    /// Limit for connecting, so that the rest of the timeout remains for the response.
    private static let connectTimeoutMax = Duration.seconds(10)
    /// Limit of header lines, against hostile peers.
    private static let headersMax = 200

    /// - Throws: `refused` when the request cannot be sent at all.
    init(_ work: Work, ticket: TransferThread.Ticket, authorities: String?) throws(OutboundFailure) {
        guard let handle = curl_easy_init() else {
            throw OutboundFailure(.refused, wasNotSent: true, detail: "no memory for a request")
        }
        self.handle = handle
        switch work {
        case .http(let request): (isMail, answerBytesMax) = (false, request.answerBytesMax)
        case .mail: (isMail, answerBytesMax) = (true, 1 << 16)
        }
        try set(CURLOPT_PRIVATE, UnsafeRawPointer(bitPattern: UInt(ticket)))
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_NOPROGRESS, 1)
        if let authorities { try set(CURLOPT_CAINFO, authorities) }
        let me = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        try set(CURLOPT_WRITEDATA, me)
        try set(CURLOPT_HEADERDATA, me)
        try set(CURLOPT_READDATA, me)
        try set(CURLOPT_WRITEFUNCTION) { Transfer.of($3)?.received($0, $1 &* $2) ?? 0 }
        try set(CURLOPT_HEADERFUNCTION) { Transfer.of($3)?.receivedHeader($0, $1 &* $2) ?? 0 }
        try set(CURLOPT_READFUNCTION) { Transfer.of($3)?.send($0, $1 &* $2) ?? 0 }
        switch work {
        case .http(let request): try prepare(request)
        case .mail(let mail): try prepare(mail)
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        for list in lists { curl_slist_free_all(list) }
    }

    private func prepare(_ request: OutboundRequest) throws(OutboundFailure) {
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_URL, request.url)
        try setTimeout(request.timeout)
        if !request.isRepeatable { try set(CURLOPT_FRESH_CONNECT, 1) }
        if request.isDirect { try set(CURLOPT_NOPROXY, "*") }
        switch request.version {
        case .automatic: break
        case .http2:
            let isPlain = request.url.lowercased().hasPrefix("http://")
            try set(
                CURLOPT_HTTP_VERSION, isPlain ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS)
            // Waits for a pending connection instead of opening another.
            try set(CURLOPT_PIPEWAIT, 1)
        }
        if request.method != .get || !request.body.isEmpty {
            try set(CURLOPT_POST, 1)
            try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
            try set(CURLOPT_POSTFIELDSIZE, request.body.count)
            let result = request.body.withUnsafeBytes {
                satchel_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafeRawPointer(emptyBody))
            }
            try check(result)
        }
        var list: UnsafeMutablePointer<curl_slist>?
        // By default libcurl waits a second for "100 Continue" and declares every body a form.
        for (name, value) in [("Expect", ""), ("Content-Type", "")] + request.headers.map({ ($0.name, $0.value) }) {
            if name == "Content-Type", value.isEmpty, request.headers.contains(where: { $0.name == name }) { continue }
            guard !(name + value).utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else {
                throw OutboundFailure(.refused, wasNotSent: true, detail: "a header has a line break")
            }
            list = try appended("\(name): \(value)", to: list)
        }
        try set(CURLOPT_HTTPHEADER, list.map { UnsafeRawPointer($0) })
    }

    private func prepare(_ mail: OutboundMail) throws(OutboundFailure) {
        try set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        try set(CURLOPT_URL, mail.url)
        try setTimeout(mail.timeout)
        switch mail.encryption {
        case .none: try set(CURLOPT_USE_SSL, Int(CURLUSESSL_NONE.rawValue))
        case .opportunistic: try set(CURLOPT_USE_SSL, Int(CURLUSESSL_TRY.rawValue))
        case .required: try set(CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue))
        }
        if let login = mail.login {
            try set(CURLOPT_USERNAME, login.user)
            try set(CURLOPT_PASSWORD, login.password)
        }
        let addresses = [mail.sender] + mail.recipients
        guard !addresses.contains(where: { $0.utf8.contains { $0 < 33 || $0 == 60 || $0 == 62 } }) else {
            throw OutboundFailure(.refused, wasNotSent: true, detail: "an address contains invalid characters")
        }
        try set(CURLOPT_MAIL_FROM, "<\(mail.sender)>")
        var list: UnsafeMutablePointer<curl_slist>?
        for recipient in mail.recipients { list = try appended("<\(recipient)>", to: list) }
        try set(CURLOPT_MAIL_RCPT, list.map { UnsafeRawPointer($0) })
        upload = mail.message[...]
        try set(CURLOPT_UPLOAD, 1)
        // libcurl's result reports a refusal but not the refused command. Only this callback sees commands and replies.
        try set(CURLOPT_DEBUGDATA, UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
        try check(
            satchel_curl_set_debug(handle) { _, type, bytes, count, transfer in
                Transfer.of(transfer)?.overheard(type, UnsafeRawBufferPointer(start: bytes, count: count))
                return 0
            })
        try set(CURLOPT_VERBOSE, 1)
    }

    // MARK: - Options

    private func check(_ result: CURLcode) throws(OutboundFailure) {
        guard result == CURLE_OK else {
            throw OutboundFailure(.refused, wasNotSent: true, detail: String(cString: curl_easy_strerror(result)))
        }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(OutboundFailure) {
        try check(satchel_curl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: UnsafeRawPointer?) throws(OutboundFailure) {
        try check(satchel_curl_set_pointer(handle, option, value))
    }

    /// libcurl copies the text.
    private func set(_ option: CURLoption, _ value: String) throws(OutboundFailure) {
        guard !value.utf8.contains(0) else {
            throw OutboundFailure(.refused, wasNotSent: true, detail: "a text contains a zero byte")
        }
        try check(value.withCString { satchel_curl_set_pointer(handle, option, $0) })
    }

    private func set(
        _ option: CURLoption,
        _ callback: @escaping @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int
    ) throws(OutboundFailure) {
        try check(satchel_curl_set_callback(handle, option, callback))
    }

    private func setTimeout(_ timeout: Duration) throws(OutboundFailure) {
        try set(CURLOPT_TIMEOUT_MS, Self.milliseconds(timeout))
        try set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(min(timeout, Self.connectTimeoutMax)))
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        return max(1, Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }

    private func appended(
        _ text: String, to list: UnsafeMutablePointer<curl_slist>?
    ) throws(OutboundFailure) -> UnsafeMutablePointer<curl_slist> {
        guard let longer = curl_slist_append(list, text) else {
            throw OutboundFailure(.refused, wasNotSent: true, detail: "no memory for a header")
        }
        if list == nil { lists.append(longer) }
        return longer
    }

    // MARK: - libcurl's callbacks

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> Transfer? {
        pointer.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returning another number than `count` ends the transfer.
    private func received(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard body.count + count <= answerBytesMax else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    private func receivedHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
        if line.hasPrefix("HTTP/") { headers = [:] }  // The final headers follow those of "100 Continue".
        guard let colon = line.firstIndex(of: ":"), headers.count < Self.headersMax else { return count }
        headers[line[..<colon].lowercased()] =
            line[line.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
        return count
    }

    private func send(_ bytes: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int {
        let part = upload.prefix(room)
        part.withUnsafeBytes { source in
            if let from = source.baseAddress, let bytes { memcpy(bytes, from, source.count) }
        }
        upload = upload.dropFirst(part.count)
        return part.count
    }

    private func overheard(_ type: curl_infotype, _ bytes: UnsafeRawBufferPointer) {
        switch type {
        case CURLINFO_HEADER_OUT:
            dialogue.sent(bytes)
            // When a transfer ends, libcurl waits synchronously for the reply to QUIT, by default for two minutes,
            // which blocks all other transfers. After a timeout it may send QUIT to a server that hangs.
            if dialogue.hasEnded { _ = satchel_curl_set_long(handle, CURLOPT_SERVER_RESPONSE_TIMEOUT, 1) }
        case CURLINFO_HEADER_IN: dialogue.received(bytes)
        default: break
        }
    }

    // MARK: - Results

    static func ticket(of handle: UnsafeMutableRawPointer) -> TransferThread.Ticket? {
        var value: UnsafeMutableRawPointer?
        guard satchel_curl_get_pointer(handle, CURLINFO_PRIVATE, &value) == CURLE_OK else { return nil }
        return UInt64(UInt(bitPattern: value))
    }

    func cancelled() -> OutboundFailure { OutboundFailure(.cancelled, wasNotSent: !hasBeenSent) }

    func outcome(_ result: CURLcode) -> Result<Outcome, OutboundFailure> {
        let code = responseCode
        guard result == CURLE_OK else { return .failure(failure(result, code)) }
        return .success(Outcome(status: code, headers: headers, body: body))
    }

    private func failure(_ result: CURLcode, _ code: Int) -> OutboundFailure {
        let detail = String(cString: curl_easy_strerror(result))
        if isTooLarge { return OutboundFailure(.answerTooLarge, wasNotSent: false) }
        // Independent of libcurl's result: the server's last reply was a refusal.
        if isMail, (400...599).contains(code), result != CURLE_OPERATION_TIMEDOUT {
            return failed(.mailRefused, wasNotSent: true, replyCode: code, detail)
        }
        switch result {
        // libcurl also reports a non-HTTP response as "unsupported protocol".
        case CURLE_UNSUPPORTED_PROTOCOL where !hasBeenSent, CURLE_URL_MALFORMAT:
            return OutboundFailure(.refused, wasNotSent: true, detail: detail)
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR,
            CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_USE_SSL_FAILED:
            return failed(.unreachable, wasNotSent: true, detail)
        case CURLE_LOGIN_DENIED where isMail:
            return failed(.mailRefused, wasNotSent: true, replyCode: code == 0 ? nil : code, detail)
        case CURLE_OPERATION_TIMEDOUT:
            return failed(.timedOut, wasNotSent: !hasBeenSent, detail)
        default:
            return failed(.broken, wasNotSent: !hasBeenSent, detail)
        }
    }

    private func failed(
        _ reason: OutboundFailure.Reason, wasNotSent: Bool, replyCode: Int? = nil, _ detail: String
    ) -> OutboundFailure {
        OutboundFailure(
            reason, wasNotSent: wasNotSent, replyCode: replyCode, detail: detail,
            stage: isMail ? dialogue.stage : nil, reply: dialogue.reply)
    }

    /// The HTTP status, or the SMTP server's last reply.
    private var responseCode: Int {
        var code = 0
        return satchel_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &code) == CURLE_OK ? code : 0
    }

    /// Whether a part of the request may have reached the peer, because the connection was established.
    private var hasBeenSent: Bool {
        if isMail { return upload.startIndex > 0 }
        var microseconds: curl_off_t = 0
        let result = satchel_curl_get_offset(handle, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
        return result != CURLE_OK || microseconds > 0
    }
}

/// libcurl interprets a null pointer as "no body".
private nonisolated(unsafe) let emptyBody = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
