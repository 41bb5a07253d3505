import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The limits of clients' uploads: a rate limit, and maximum sizes per uploader, for all clients and for the disk.
final class FileQuota: Sendable {
    private let quotas: Quotas
    /// The total size of all clients' files when it was last summed up, plus uploads accepted since.
    private let total = Mutex<(bytes: Int, addedUpAt: ContinuousClock.Instant)?>(nil)

    /// Summing up walks an index of all files.
    private static let validity = Duration.seconds(60)

    init(quotas: Quotas) { self.quotas = quotas }

    /// Counts an upload before its bytes are written.
    /// - Throws: `.requestLimitExceeded` (155) when uploads arrive too fast, `.fileSaveError` (130) when there are too
    ///   many files, `.serviceUnavailable` (2) when the disk is nearly full.
    func admit(bytes: Int, by caller: Caller, store: ClassStore, for share: WorkShare) async throws {
        guard !caller.isOperator else { return }
        try quotas.requireDiskSpace(for: caller)
        try await admitStored(bytes: bytes, by: caller, store: store, for: share)
        try quotas.take([(.files, 1), (.fileBytes, bytes)], by: caller)
        total.withLock { $0?.bytes += bytes }
    }

    private func admitStored(
        bytes: Int, by caller: Caller, store: ClassStore, for share: WorkShare
    ) async throws {
        if let userId = caller.userId {
            let usage = try await store.read(for: share) { try FileTable.usage(of: userId, in: $0) }
            guard usage.count < quotas.settings.ceiling(.userFilesMax),
                usage.bytes + bytes <= quotas.settings.ceiling(.userFileBytesMax)
            else { throw ParseError(.fileSaveError, "You have as many files as a user can have.") }
        }
        let now = ContinuousClock.now
        let known = total.withLock { total in total.flatMap { now - $0.addedUpAt < Self.validity ? $0.bytes : nil } }
        let all: Int
        if let known {
            all = known
        } else {
            all = try await store.read(for: share) { try FileTable.clientBytes(in: $0) }
            total.withLock { $0 = (all, now) }
        }
        guard all + bytes <= quotas.settings.ceiling(.clientFileBytesMax) else {
            throw ParseError(.fileSaveError, "There is no room for more files of clients.")
        }
    }
}
