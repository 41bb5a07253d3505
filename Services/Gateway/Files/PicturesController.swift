import HTTPTypes
import Messages
import NIOCore
import ParseProtocol

/// `/files/<application id>/width/<width>/<name>`: public pictures, shrunk to the widths of `PictureWidths`.
struct PicturesController: Sendable {
    let services: ServiceClient
    let configuration: GatewayConfiguration
    let cache: FileCache?

    /// A picture in the catalog's line is made within this time.
    private static let timeout = Duration.seconds(20)
    private static let retryPause = Duration.milliseconds(500)

    private typealias Picture = (file: FileReply, firstBytes: ByteBuffer)

    /// Other widths, private files and malformed names are refused before any look-up.
    func download(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        let path = request.path
        guard path.count == 5 else { throw ParseRouter.noRoute }
        guard path[1] == configuration.applicationId else { return .forbidden(hint: Guidance.otherFiles) }
        guard let width = PictureWidths.width(path[3]) else {
            let widths = PictureWidths.all.map(String.init).joined(separator: ", ")
            throw ParseError(.invalidQuery, "The width must be one of \(widths).")
        }
        let name = String(path[4])
        guard FileNames.isStoredName(name) else { return FilesController.notFound }
        guard !FileNames.isPrivate(name) else { return .forbidden(hint: Guidance.privatePicture) }
        let message = PictureRequest.with {
            $0.name = name
            $0.width = UInt32(width)
            $0.webp = AcceptedTypes.include("image/webp", in: request.headers[.accept])
        }
        // The file never changes. No ranges are served, so that bytes of two libvips versions are never joined.
        let etag = "\"\(name.prefix(32))-\(width)\(message.webp ? "-webp" : "")\""
        let isNotModified = EntityTag.isNamed(etag, in: request.headers[.ifNoneMatch])
        let length = isNotModified || request.isHead ? 0 : FilesController.partBytes
        guard let (file, firstBytes) = try await lookedUp(message, etag, length, principal, request.call) else {
            return FilesController.notFound
        }
        let size = Int(clamping: file.size)
        var response = ParseResponse(FinalBody(firstBytes, tag: etag))
        if isNotModified {
            response = ParseResponse(status: 304, body: [])
        } else if firstBytes.readableBytes != size {
            response.final = nil
            let context = CallContext(trace: request.requestId)
            response.stream = FilesController.stream(0..<size, firstBytes) { offset, length in
                try await self.laterPart(message, offset, length, principal, context)
            }
        }
        response.headers = headers(name, file.contentType, etag)
        if isNotModified { response.headers[.contentLength] = String(size) }
        return response
    }

    private func headers(_ name: String, _ contentType: String, _ etag: String) -> HTTPFields {
        let title = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
        let kind = contentType.split(separator: "/").last ?? ""
        var headers = FileHeaders.common(name: "\(title).\(kind)", contentType: contentType, etag: etag)
        headers[.acceptRanges] = nil
        headers[.vary] = configuration.admission.origins.isForAll ? "Accept" : "Accept, Origin"
        return headers
    }

    /// A picture with its first bytes, or with all of its content when it was cached; nil when there is no such file.
    private func lookedUp(
        _ message: PictureRequest, _ form: String, _ length: Int, _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) -> Picture? {
        let look = cache?.look(message.name, form: form) ?? .unfit
        if case .found(let cached) = look { return (cached.facts, cached.content) }
        guard let picture = try await part(message, 0, length, principal, context) else { return nil }
        if case .missing(let missing) = look, picture.firstBytes.readableBytes == Int(clamping: picture.file.size) {
            cache?.keep(.init(facts: picture.file, content: picture.firstBytes), for: missing)
        }
        return picture
    }

    /// A part of a picture that may have been evicted since its first bytes were read: the catalog makes it again, when
    /// its line has a place.
    private func laterPart(
        _ message: PictureRequest, _ offset: Int, _ length: Int, _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) -> ByteBuffer? {
        let end = ContinuousClock.now + Self.timeout
        while true {
            do throws(ParseError) {
                return try await part(message, offset, length, principal, context)?.firstBytes
            } catch {
                guard error.code == .serviceUnavailable, ContinuousClock.now < end,
                    (try? await Task.sleep(for: Self.retryPause)) != nil
                else { throw error }
            }
        }
    }

    private func part(
        _ message: PictureRequest, _ offset: Int, _ length: Int, _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) -> Picture? {
        var message = message
        message.offset = UInt64(clamping: offset)
        message.length = UInt32(clamping: length)
        do {
            let reply = try await services.send(
                FileCalls.picture, message, [], principal, context, timeout: Self.timeout)
            return (try reply.message, ByteBuffer(bytes: reply.documents.first ?? []))
        } catch {
            if error.code == .objectNotFound { return nil }
            guard error.code == .timeout else { throw error }
            throw ParseError(.serviceUnavailable, "The picture is still being made. Try again later.")
        }
    }
}
