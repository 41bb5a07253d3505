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
    /// Most pictures take one call of the catalog, which sends no longer parts.
    private static let partBytes = 1 << 20

    private typealias Picture = (file: FileReply, content: ByteBuffer)

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
        let isHead = isNotModified || request.isHead
        guard let (file, content) = try await lookedUp(message, etag, isHead: isHead, principal, request.call) else {
            return FilesController.notFound
        }
        var response =
            isHead
            ? ParseResponse(status: isNotModified ? 304 : 200, body: [])
            : ParseResponse(FinalBody(content, tag: etag))
        response.headers = headers(name, file.contentType, etag)
        if isHead { response.headers[.contentLength] = String(file.size) }
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

    /// A picture from the gateway's cache or the catalog; nil when there is no such file. The response begins when the
    /// gateway has all of it: between two parts the catalog may lose the picture and be too busy to make it again.
    /// - Parameter isHead: whether the client gets no content.
    private func lookedUp(
        _ message: PictureRequest, _ form: String, isHead: Bool, _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) -> Picture? {
        let look = cache?.look(message.name, form: form) ?? .unfit
        if case .found(let cached) = look { return (cached.facts, cached.content) }
        let end = ContinuousClock.now + Self.timeout
        let length = isHead ? 0 : Self.partBytes
        guard var picture = try await part(message, 0, length, principal, context, until: end) else { return nil }
        guard !isHead else { return picture }
        while picture.content.readableBytes < Int(clamping: picture.file.size) {
            let offset = picture.content.readableBytes
            guard let next = try await part(message, offset, length, principal, context, until: end) else { return nil }
            // A catalog with another libvips may have made it again.
            guard next.file.size == picture.file.size, next.content.readableBytes > 0 else { throw Self.unfinished }
            picture.content.writeImmutableBuffer(next.content)
        }
        if case .missing(let missing) = look {
            cache?.keep(.init(facts: picture.file, content: picture.content), for: missing)
        }
        return picture
    }

    private func part(
        _ message: PictureRequest, _ offset: Int, _ length: Int, _ principal: Principal, _ context: CallContext,
        until end: ContinuousClock.Instant
    ) async throws(ParseError) -> Picture? {
        var message = message
        message.offset = UInt64(clamping: offset)
        message.length = UInt32(clamping: length)
        do {
            let reply = try await services.send(
                FileCalls.picture, message, [], principal, context, timeout: max(.zero, end - .now))
            return (try reply.message, ByteBuffer(bytes: reply.documents.first ?? []))
        } catch {
            if error.code == .objectNotFound { return nil }
            throw error.code == .timeout ? Self.unfinished : error
        }
    }

    private static let unfinished = ParseError(
        .serviceUnavailable, "The picture is still being made. Try again later.")
}
