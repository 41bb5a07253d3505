import MessageBus
import Messages
import NIOCore
import ParseProtocol
import Synchronization

/// The gateway's copies of files that were downloaded lately. They are as exact as the answers of `ReadCache`, and by
/// the same means: the catalog notes on its board which file it removes before anybody is told of it.
final class FileCache: Sendable {
    private typealias Files = CachedReads<File, ChangeStamp>

    /// A whole file.
    struct File: Sendable {
        /// Its type, size and metadata.
        let facts: FileReply
        let content: ByteBuffer
    }

    /// A file that the catalog must be asked for, and that may be kept then.
    struct Missing: Sendable {
        fileprivate let key: CachedReads<File, ChangeStamp>.Key
        fileprivate let stamp: ChangeStamp
    }

    /// The outcome of looking for a file.
    enum Look: Sendable {
        case found(File)
        case missing(Missing)
        /// The cache has no part in it.
        case unfit
    }

    /// The name under which the board has files among the objects of classes.
    private static let className = ChangeSubject.filesClass

    private let files: Mutex<Files>
    private let boards: ReadCache

    /// - Parameter boards: nil where nothing is kept.
    /// - Returns: nil for a cache without room, which is none.
    init?(_ configuration: GatewayConfiguration, boards: ReadCache?) {
        guard let boards, configuration.fileCacheBytes > 0 else { return nil }
        files = Mutex(Files(bytesMax: configuration.fileCacheBytes, entryBytesMax: 2 * FilesController.partBytes))
        self.boards = boards
    }

    /// Looks for a file.
    func look(_ name: String) -> Look {
        let key = Files.Key(isMaster: false, className: Self.className, objectId: name, options: [])
        if let found = files.withLock({ $0.find(key, isSignedIn: false, now: BusClock.now) { $0.isCurrent } }) {
            return .found(found)
        }
        let subject = ChangeSubject.object(ofClass: Self.className, id: name)
        guard let stamp = boards.stamp(of: subject, in: FileCalls.get.service) else { return .unfit }
        return .missing(Missing(key: key, stamp: stamp))
    }

    /// Keeps a file that was missing, unless it was removed meanwhile.
    func keep(_ file: File, for missing: Missing) {
        guard missing.stamp.isCurrent else { return }
        let bytes = file.content.storageCapacity + file.facts.metadata.count
        files.withLock {
            $0.keep(
                file, for: missing.key, bytes: bytes, stamp: missing.stamp, isForEverybody: true, now: BusClock.now)
        }
    }

    var counts: JSON { files.withLock { $0.counts.json } }
}
