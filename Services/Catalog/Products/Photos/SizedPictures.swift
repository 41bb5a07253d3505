import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import Platform
import ServiceKit
import Synchronization

/// Public pictures in the widths of `PictureWidths`. A picture is made when a client first requests it, and again when
/// `PictureFolder` has lost it.
final class SizedPictures: Sendable {
    private struct Picture: Sendable {
        let content: [UInt8]
        let kind: PictureFolder.Kind
    }

    private struct Look: Sendable {
        let asWebP: Bool
        let found: (file: PictureFolder.Found, part: [UInt8])?
    }

    private struct State {
        /// One task for all requests of the same picture.
        var making: [String: Task<Picture, any Error>] = [:]
        /// Files that cannot be shrunk, with the time when the next request tries them again.
        var broken: [String: ContinuousClock.Instant] = [:]

        func isBroken(_ name: String) -> Bool { broken[name].map { $0 > .now } ?? false }
    }

    private static let brokenFor = Duration.seconds(60)
    private static let brokenMax = 1000

    private let home: FileStorage
    private let studio: PhotoStudio
    private let folder: PictureFolder
    private let quotas: Quotas
    private let gate = NetworkGate(.pictures)
    private let state = Mutex(State())
    private let disk = BlockingQueue("pictures")

    /// - Throws: `StartupProblem` for an invalid `SATCHEL_PICTURE_CACHE`.
    init(_ host: ServiceHost, _ home: FileStorage, _ studio: PhotoStudio) throws {
        self.home = home
        self.studio = studio
        quotas = host.quotas
        let settings = host.configuration.settings
        folder = PictureFolder(
            dataDirectory: host.configuration.dataDirectory,
            bytesMax: try settings.number("satchel.picture.cache", 65_536...(1 << 40), default: 256 << 20))
    }

    /// - Throws: `.objectNotFound` (101) for a file that does not exist or is private, `.invalidImageData` (150) for a
    ///   file that is no picture, `.serviceUnavailable` (2) or `.requestLimitExceeded` (155) when too many are made.
    func reply(to message: PictureRequest, _ request: ServiceRequest) async throws -> BusReply {
        let name = message.name
        guard FileNames.isStoredName(name), !FileNames.isPrivate(name),
            let width = PictureWidths.all.first(where: { $0 == Int(message.width) }),
            let entry = try await home.store.read(for: request.share, { try FileTable.find(name, in: $0) })
        else { throw ParseError.objectNotFound }
        let look = await look(for: message, width)
        if let found = look.found { return try Self.reply(found.file.kind, size: found.file.size, found.part) }
        if state.withLock({ $0.isBroken(name) }) { throw Self.broken }
        let reply = try await gate.run(for: ClientNetwork(request.caller.network)) { () async throws -> BusReply in
            // While this request waited, another one may have made the picture.
            if let found = await self.look(for: message, width).found {
                return try Self.reply(found.file.kind, size: found.file.size, found.part)
            }
            let picture = try await self.picture(of: entry, width, asWebP: look.asWebP, request)
            let start = min(Int(clamping: message.offset), picture.content.count)
            let end = min(picture.content.count, start + min(Int(message.length), FileFolder.partBytesMax))
            return try Self.reply(picture.kind, size: picture.content.count, Array(picture.content[start..<end]))
        }
        guard let reply else {
            throw ParseError(.serviceUnavailable, "Too many pictures are being made. Try again later.")
        }
        return reply
    }

    /// The part of the picture that the message wants, if the folder has the picture.
    private func look(for message: PictureRequest, _ width: Int) async -> Look {
        await disk.run { [folder, files = home.folder] in
            let asWebP = message.webp && PhotoStudio.writesWebP
            guard let file = folder.find(message.name, width, asWebP ? [.webp] : [.jpg, .png]),
                let part = try? files.read(file: file.path, offset: message.offset, length: Int(message.length))
            else { return Look(asWebP: asWebP, found: nil) }
            return Look(asWebP: asWebP, found: (file, part))
        }
    }

    private static func reply(_ kind: PictureFolder.Kind, size: Int, _ part: [UInt8]) throws -> BusReply {
        let reply = FileReply.with {
            $0.contentType = kind.contentType
            $0.size = UInt64(size)
        }
        return try BusReply(reply, documents: [part])
    }

    /// The picture from the task that makes it. The request has its turn.
    private func picture(
        of entry: FileTable.Entry, _ width: Int, asWebP: Bool, _ request: ServiceRequest
    ) async throws -> Picture {
        let key = "\(entry.name.prefix(32))-\(width)-\(asWebP)"
        let caller = request.caller
        let share = request.share
        let task = try state.withLock { shared throws -> Task<Picture, any Error> in
            if shared.isBroken(entry.name) { throw Self.broken }
            if let task = shared.making[key] { return task }
            try quotas.take(of: .pictures, by: caller)
            let task = Task { [self] () async throws -> Picture in
                defer { state.withLock { $0.making[key] = nil } }
                do {
                    return try await make(entry, width, asWebP, share)
                } catch let error as ParseError where error.code == .invalidImageData {
                    remember(broken: entry.name)
                    throw error
                }
            }
            shared.making[key] = task
            return task
        }
        return try await task.value
    }

    private static let broken = ParseError(.invalidImageData, "The file is not a picture, or it is broken.")

    private func remember(broken name: String) {
        let end = ContinuousClock.now + Self.brokenFor
        state.withLock { state in
            if state.broken.count >= Self.brokenMax { state.broken = [:] }
            state.broken[name] = end
        }
    }

    private func make(
        _ entry: FileTable.Entry, _ width: Int, _ asWebP: Bool, _ share: WorkShare
    ) async throws -> Picture {
        let work: String
        let photo: String
        if entry.inBucket {
            let content = try await home.content(of: entry, for: share)
            (work, photo) = try await home.folder.workCopy(of: content)
        } else {
            work = try await home.folder.onDisk { [files = home.folder] in try files.makeWorkFolder() }
            photo = home.folder.location(of: entry.name)
        }
        defer { try? FileManager.default.removeItem(atPath: work) }
        guard entry.inBucket || home.folder.size(of: entry.name) != nil else {
            throw ParseError(.serviceUnavailable, "The file is being moved. Try again later.")
        }
        let made = try await studio.picture(of: photo, width: width, asWebP: asWebP, in: work)
        await disk.run { [folder] in folder.add(made.content, entry.name, width, made.kind) }
        return Picture(content: made.content, kind: made.kind)
    }
}

extension NetworkTurns.Limits {
    /// Pictures: each takes a core, and those in line a few seconds of work. A lane takes 128 requests; the others are
    /// for the rest of the shop.
    package static let pictures = NetworkTurns.Limits(
        places: 2, placesPerNetwork: 2, waiting: 64, waitingPerNetwork: 32, few: 8)
}
