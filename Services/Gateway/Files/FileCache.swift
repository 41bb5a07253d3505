import MessageBus
import Messages
import NIOCore
import ParseProtocol
import Synchronization

/// The gateway's copies of recently downloaded files. They are as current as the entries of `ReadCache`: the catalog
/// records the removal of a file on its board before it reports it.
final class FileCache: Sendable {
    private typealias Files = CachedReads<File, ChangeStamp>

    /// A whole file.
    struct File: Sendable {
        /// Type, size and metadata.
        let facts: FileReply
        let content: ByteBuffer
    }

    /// A file that is not cached. The catalog's reply may be cached under this stamp.
    struct Missing: Sendable {
        fileprivate let key: CachedReads<File, ChangeStamp>.Key
        fileprivate let stamp: ChangeStamp
    }

    /// The result of a look-up.
    enum Look: Sendable {
        case found(File)
        case missing(Missing)
        /// The cache is not used for this file.
        case unfit
    }

    /// The name under which files are on the board, among the classes.
    private static let className = ChangeSubject.filesClass

    private let files: Mutex<Files>
    private let boards: ReadCache

    /// - Parameter boards: nil when caching is off.
    /// - Returns: nil when no memory is configured for the cache.
    init?(_ configuration: GatewayConfiguration, boards: ReadCache?) {
        guard let boards, configuration.fileCacheBytes > 0 else { return nil }
        files = Mutex(Files(bytesMax: configuration.fileCacheBytes, entryBytesMax: 2 * FilesController.partBytes))
        self.boards = boards
    }

    /// Looks a file up.
    /// - Parameter form: of a picture made from the file; empty for the file itself.
    func look(_ name: String, form: String = "") -> Look {
        let key = Files.Key(isMaster: false, className: Self.className, objectId: name, options: Array(form.utf8))
        if let found = files.withLock({ $0.find(key, isSignedIn: false, now: BusClock.now) { $0.isCurrent } }) {
            return .found(found)
        }
        let subject = ChangeSubject.object(ofClass: Self.className, id: name)
        guard let stamp = boards.stamp(of: subject, in: FileCalls.get.service) else { return .unfit }
        return .missing(Missing(key: key, stamp: stamp))
    }

    /// Caches a file that was missing, unless it was removed in the meantime.
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
