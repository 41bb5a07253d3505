import HTTPTypes
import Messages
import NIOCore
import ParseProtocol

/// `/files`: uploads, downloads without keys, and deletion.
struct FilesController: Sendable {
    let services: ServiceClient
    let configuration: GatewayConfiguration
    let cache: FileCache?

    /// A slow disk writes a file of 48 MiB within this time.
    private static let saveTimeout = Duration.seconds(30)
    /// Bytes of content in one message. A download holds about three messages at a time, whatever the size of the file.
    static let partBytes = 256 << 10
    /// The pause before a part that the catalog did not send is requested again.
    private static let pause = Duration.milliseconds(500)

    // MARK: - Requests

    /// `POST /files/<name>`.
    func upload(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard !request.isInBatch else { throw ParseError(.commandUnavailable, "A batch cannot upload files.") }
        try authorize(principal)
        guard request.path.count == 2 else { throw ParseError(.invalidFileName, "Filename not provided.") }
        if FileUpload.keepsName(request) { return try await move(request, principal) }
        var upload = try FileUpload(
            request, named: String(request.path[1]), bytesMax: configuration.fileBytesMax,
            types: configuration.fileTypes)
        let hooks = try await HookedFiles(request.hooks, principal)
        if let file = try await hooks?.beforeSave(upload) {
            if let url = file["url"]?.stringValue, let name = file["name"]?.stringValue {
                // The cloud code has stored the file itself.
                try await hooks?.afterSave(name, url: url, nil)
                return Self.stored(name, url: url)
            }
            upload = try FileUpload(
                upload, as: file, bytesMax: configuration.fileBytesMax, types: configuration.fileTypes)
        }
        let name = FileNames.storedName(
            upload.name, isPrivate: upload.isPrivate, isAccountPhoto: request.isAccountPhoto,
            digits: request.call.keys?.digits)
        let answer = try await save(upload, as: name, principal, request)
        let url = configuration.fileLinks.url(of: name, signedBy: configuration.fileSigner)
        try await hooks?.afterSave(name, url: url, upload)
        return answer
    }

    /// Stores a file of another server under its stored name, so that values and old addresses go on naming it. Calls
    /// no triggers.
    private func move(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard principal.master else {
            throw ParseError(
                .operationForbidden, "Only requests with the master key may set the stored name of a file.")
        }
        let name = String(request.path[1])
        guard FileNames.isStoredName(name), !FileNames.isPrivate(name), !FileNames.isAccountPhoto(name) else {
            throw ParseError(.invalidFileName, "A stored name begins with 32 hexadecimal digits and _.")
        }
        let upload = try FileUpload(
            request, named: FileNames.original(name), bytesMax: configuration.fileBytesMax,
            types: configuration.fileTypes)
        guard !upload.isPrivate else {
            throw ParseError(.invalidFileName, "A file that keeps its stored name cannot be private.")
        }
        return try await save(upload, as: name, principal, request)
    }

    private func save(
        _ upload: FileUpload, as name: String, _ principal: Principal, _ request: ParseRequest
    ) async throws(ParseError) -> ParseResponse {
        let message = SaveFileRequest.with {
            $0.name = name
            $0.contentType = upload.contentType
            $0.metadata = .init(upload.metadata)
        }
        _ = try await services.write(
            FileCalls.save, message, documents: [upload.content], for: principal, in: request.call,
            timeout: Self.saveTimeout)
        return Self.stored(name, url: configuration.fileLinks.url(of: name, signedBy: configuration.fileSigner))
    }

    private static func stored(_ name: String, url: String) -> ParseResponse {
        ParseResponse(status: 201, ["name": .string(name), "url": .string(url)], location: url)
    }

    /// - Throws: `.fileSaveError` (130) when the principal may not upload files.
    func authorize(_ principal: Principal) throws(ParseError) {
        guard !principal.master else { return }
        let (needed, who): (FileUploadRight, String) =
            principal.userID.isEmpty
            ? (.public, "public")
            : principal.anonymous ? (.anonymous, "anonymous user") : (.authenticated, "authenticated user")
        let order = FileUploadRight.allCases
        guard let allowed = order.firstIndex(of: configuration.fileUpload), let least = order.firstIndex(of: needed),
            least <= allowed
        else { throw ParseError(.fileSaveError, "File upload by \(who) is disabled.") }
    }

    /// `DELETE /files/<name>`, and `DELETE /files/<application id>/<name>`, which is the path in the file's URL.
    func delete(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard request.path.count > 1, let name = request.path.last.map(String.init) else {
            throw ParseError(.invalidFileName, "Filename not provided.")
        }
        guard request.path.count == 2 || request.path[1] == configuration.applicationId else {
            return .forbidden(hint: Guidance.otherFiles)
        }
        let url = configuration.fileLinks.url(of: name)
        let hooks = try await HookedFiles(request.hooks, principal)
        try await hooks?.beforeDelete(name, url: url)
        _ = try await services.write(
            FileCalls.delete, DeleteFileRequest.with { $0.name = name }, for: principal,
            in: request.call)
        try await hooks?.afterDelete(name, url: url)
        return ParseResponse([:])
    }

    /// `GET /files/<application id>/url/<name>?seconds=<n>`: a URL that opens the file; master key only.
    func sign(_ request: ParseRequest, _ name: String) throws(ParseError) -> ParseResponse {
        guard FileNames.isStoredName(name) else {
            throw ParseError(.invalidFileName, "Filename contains invalid characters.")
        }
        let wanted = try ParseRequest.pairs(Substring(request.query ?? "").utf8)["seconds"]
        let seconds = try wanted.map { text throws(ParseError) in
            guard let seconds = Int64(text), (1...FileSigner.secondsMax).contains(seconds) else {
                throw ParseError(.invalidQuery, "seconds must be from 1 to \(FileSigner.secondsMax).")
            }
            return seconds
        }
        let url = configuration.fileLinks.url(of: name, signedBy: configuration.fileSigner, seconds: seconds)
        return ParseResponse(["name": .string(name), "url": .string(url)])
    }

    /// `GET /files/<application id>/<name>` and `GET /files/<application id>/metadata/<name>`. A public file needs only
    /// its name; a private file needs a signed URL that has not expired.
    func download(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let path = request.path
        let isMetadata = path.count == 4 && path[2] == "metadata"
        guard path.count == 3 || isMetadata, let name = path.last.map(String.init) else { throw ParseRouter.noRoute }
        guard path[1] == configuration.applicationId else { return .forbidden(hint: Guidance.otherFiles) }
        guard FileNames.isStoredName(name) else { return Self.notFound }
        var secondsLeft: Int64?
        if FileNames.isPrivate(name) {
            // Checked before any look-up, so that the refusal does not reveal whether the file exists.
            secondsLeft = configuration.fileSigner.secondsLeft(of: name, query: request.query, now: .now)
            guard secondsLeft != nil else { return .forbidden(hint: Guidance.fileLink) }
        }
        guard var response = try await response(to: request, name, isMetadata: isMetadata) else { return Self.notFound }
        // Shared caches must not store it, and the device's cache no longer than the URL is valid.
        if let secondsLeft, !isMetadata, ![302, 416].contains(response.status) {
            response.headers[.cacheControl] = "private, max-age=\(secondsLeft)"
        }
        return response
    }

    /// The response to an admitted download; nil when there is no such file.
    private func response(
        to request: ParseRequest, _ name: String, isMetadata: Bool
    ) async throws(ParseError) -> ParseResponse? {
        if !isMetadata, !request.isHead, let start = startDownload(name, request.headers, request.requestId) {
            switch start {
            case .cached(let response): return response
            case .ask(let message, let look):
                return try await reply(to: message, request.call).map { file, firstPart in
                    wholeFile(message, look, file, firstPart, request.requestId)
                }
            }
        }
        guard let (file, content) = try await lookedUp(name, request.call) else { return nil }
        if isMetadata {
            return ParseResponse(body: file.metadata.isEmpty ? Array("{}".utf8) : Array(file.metadata))
        }
        return Self.redirection(request, name, file) ?? answer(request, name, file, content)
    }

    /// How a whole public file is served.
    enum DownloadStart {
        case cached(ParseResponse)
        /// One request to the catalog is needed.
        case ask(FileRequest, FileCache.Look)
    }

    /// Decides how a whole public file is served.
    /// - Parameter path: below the mount.
    /// - Returns: nil for any other download, which `download` handles.
    func startDownload(_ path: [Substring], _ headers: HTTPFields, _ trace: String) -> DownloadStart? {
        guard path.count == 3, path[1] == configuration.applicationId, FileNames.isStoredName(path[2]),
            !FileNames.isPrivate(path[2])
        else { return nil }
        return startDownload(String(path[2]), headers, trace)
    }

    private func startDownload(_ name: String, _ headers: HTTPFields, _ trace: String) -> DownloadStart? {
        guard headers[.range] == nil, headers[.ifNoneMatch] == nil else { return nil }
        switch cache?.look(name) ?? .unfit {
        case .found(let cached): return .cached(wholeFile(name, cached.facts, cached.content, trace))
        case let look: return .ask(Self.request(name, 0, Self.partBytes), look)
        }
    }

    /// The response with a whole file after the catalog's reply, as a stream when the file is longer than the first
    /// part.
    func wholeFile(
        _ message: FileRequest, _ look: FileCache.Look, _ file: FileReply, _ firstPart: [UInt8], _ trace: String
    ) -> ParseResponse {
        if !file.url.isEmpty { return Self.redirection(to: file.url) }
        let content = ByteBuffer(bytes: firstPart)
        if case .missing(let missing) = look, firstPart.count == Int(clamping: file.size) {
            cache?.keep(.init(facts: file, content: content), for: missing)
        }
        return wholeFile(message.name, file, content, trace)
    }

    private func wholeFile(
        _ name: String, _ file: FileReply, _ firstBytes: ByteBuffer, _ trace: String
    ) -> ParseResponse {
        let (size, etag) = (Int(clamping: file.size), Self.etag(of: name))
        var response = ParseResponse(FinalBody(firstBytes, tag: etag))
        if firstBytes.readableBytes != size {
            response.final = nil
            response.stream = stream(name, 0..<size, firstBytes, trace)
        }
        response.headers = FileHeaders.common(name: name, contentType: file.contentType, etag: etag)
        return response
    }

    /// The redirect to the bucket from which the client fetches the file. Nil when the gateway answers itself: the
    /// bucket's URL is valid for `GET` alone, and a client with a current copy needs none.
    private static func redirection(_ request: ParseRequest, _ name: String, _ file: FileReply) -> ParseResponse? {
        guard !file.url.isEmpty, !request.isHead, !EntityTag.isNamed(etag(of: name), in: request.headers[.ifNoneMatch])
        else { return nil }
        return redirection(to: file.url)
    }

    private static func redirection(to url: String) -> ParseResponse {
        var response = ParseResponse(status: 302, body: [], location: url)
        // The URL expires, and the one of a private file is meant for the holder of a signed URL alone.
        response.headers[.cacheControl] = "no-store"
        return response
    }

    static var notFound: ParseResponse {
        var response = ParseResponse(status: 404, body: Array("File not found.".utf8))
        response.headers[.contentType] = "text/plain; charset=utf-8"
        return response
    }

    // MARK: - Responses

    private func answer(
        _ request: ParseRequest, _ name: String, _ file: FileReply, _ firstBytes: ByteBuffer
    ) -> ParseResponse {
        let size = Int(clamping: file.size)
        let etag = Self.etag(of: name)
        var response = ParseResponse(body: [])
        response.headers = FileHeaders.common(name: name, contentType: file.contentType, etag: etag)
        if EntityTag.isNamed(etag, in: request.headers[.ifNoneMatch]) {
            response.status = 304
            // The length that a GET would have; without this line the server would send 0.
            response.headers[.contentLength] = String(size)
            return response
        }
        let wanted: Range<Int>
        switch ByteRange(request.headers[.range], if: request.headers[.ifRange], etag: etag, size: size) {
        case .whole: wanted = 0..<size
        case .part(let range):
            wanted = range
            response.status = 206
            response.headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        case .unsatisfiable:
            response.status = 416
            response.headers[.contentRange] = "bytes */\(size)"
            response.headers[.cacheControl] = "no-store"
            return response
        }
        response.stream = stream(name, wanted, firstBytes, request.requestId)
        return response
    }

    /// Names are never reused and files never change; therefore the random part of the name is the version.
    private static func etag(of name: String) -> String { "\"\(name.prefix(32))\"" }

    /// Streams the bytes; each part is requested when the client has taken the one before. The stream outlives its
    /// request, whose limits do not apply to it.
    /// - Parameter firstBytes: the first bytes of the file, as far as the gateway has them.
    private func stream(
        _ name: String, _ wanted: Range<Int>, _ firstBytes: ByteBuffer, _ trace: String
    ) -> ResponseBody {
        let context = CallContext(trace: trace)
        return .stream(length: wanted.count) { writer in
            var position = wanted.lowerBound
            while position < wanted.upperBound {
                let length = min(Self.partBytes, wanted.upperBound - position)
                let present = firstBytes.getSlice(
                    at: position, length: min(length, firstBytes.readableBytes - position))
                let part =
                    if let present, present.readableBytes > 0 { present } else {
                        try await self.part(name, position, length, context, for: writer)
                    }
                // The file was deleted in the meantime. The client detects it by the length.
                guard part.readableBytes > 0 else { throw ParseError.objectNotFound }
                position += part.readableBytes
                try await writer.write(part)
            }
        }
    }

    /// A later part of a file; empty when it was deleted. An error would break the response off, so the part is
    /// requested again for as long as a client may stall, while the client is there.
    private func part(
        _ name: String, _ offset: Int, _ length: Int, _ context: CallContext, for writer: ResponseBodyWriter
    ) async throws -> ByteBuffer {
        var message = Self.request(name, offset, length)
        message.proxied = true
        let end = ContinuousClock.now + .seconds(configuration.capacity.stallSeconds)
        while true {
            do throws(ParseError) {
                return ByteBuffer(bytes: try await reply(to: message, context)?.part ?? [])
            } catch {
                guard error.code == .serviceUnavailable || error.code == .timeout, ContinuousClock.now < end,
                    writer.isConnected
                else { throw error }
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    /// A file, with all of its content when it was cached; nil when it does not exist.
    private func lookedUp(
        _ name: String, _ context: CallContext
    ) async throws(ParseError) -> (file: FileReply, content: ByteBuffer)? {
        if case .found(let cached)? = cache?.look(name) { return (cached.facts, cached.content) }
        return try await reply(to: Self.request(name, 0, 0), context).map { (file: $0.file, content: ByteBuffer()) }
    }

    private func reply(
        to message: FileRequest, _ context: CallContext
    ) async throws(ParseError) -> (file: FileReply, part: [UInt8])? {
        do {
            let reply = try await services.read(FileCalls.get, message, for: .init(), in: context)
            return (try reply.message, reply.documents.first ?? [])
        } catch {
            guard error.code == .objectNotFound else { throw error }
            return nil
        }
    }

    private static func request(_ name: String, _ offset: Int, _ length: Int) -> FileRequest {
        FileRequest.with {
            $0.name = name
            $0.offset = UInt64(clamping: offset)
            $0.length = UInt32(clamping: length)
        }
    }
}
