import Foundation
import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The bucket's background work, run by the writer alone: it deletes due objects, moves files between disk and bucket,
/// and tests a bucket with a problem until it recovers. It runs one task at a time, so that no object is deleted while
/// it is being written.
final class BucketMaintenance: Sendable {
    private let host: ServiceHost
    private let home: FileStorage
    private let bucket: FileBucket
    private let mover: FileMover
    private let wakeUp = WakeUp()
    private let isWriter = Mutex(false)

    /// Interval between tests of a bucket with a problem. Bounds the delay until `/health` reports the recovery.
    private static let troublePause = Duration.seconds(2)
    /// Interval otherwise; a deletion wakes the work earlier.
    private static let pause = Duration.seconds(30)
    /// Deletions per round; each is one request.
    private static let dropsAtOnce = 20
    /// Delay before a deletion that the bucket refused is tried again.
    private static let refusedPause = Duration.seconds(600)

    init(host: ServiceHost, home: FileStorage, bucket: FileBucket) {
        self.host = host
        self.home = home
        self.bucket = bucket
        mover = FileMover(home: home, bucket: bucket)
        let work = wakeUp
        let tell: @Sendable (BucketTrouble?) -> Void = { [host, weak self] trouble in
            self?.warn()
            if let trouble {
                host.logger.error("Files cannot be reached.", metadata: ["bucket.trouble": "\(trouble)"])
            } else {
                host.logger.notice("The bucket of files works again.")
            }
        }
        bucket.onTrouble(tell) { work.ring() }
    }

    /// Reports the problem to the gateway. Only the writer reports, because it tests for the recovery.
    private func warn() {
        guard isWriter.withLock({ $0 }) else { return }
        host.warnings.set(bucket.trouble.map { "\($0)" } ?? "", of: "bucket")
    }

    /// Registers the work, while the service is built.
    func begin() {
        if !bucket.configuration.address.isEncrypted {
            host.logger.warning("Files travel unencrypted: SATCHEL_FILES_BUCKET_URL is not https.")
        }
        host.background.add(
            BackgroundWork(
                "files.bucket", every: Self.pause, problem: "Files could not be moved or removed.",
                logger: host.logger, wakeUp: wakeUp
            ) { [self] in try await round() })
    }

    /// Called when an object becomes due.
    func wake() { wakeUp.ring() }

    private func round() async throws -> BackgroundWork.Round {
        let isFirst = isWriter.withLock { isWriter in
            defer { isWriter = true }
            return !isWriter
        }
        // While the bucket is unavailable an occasional request tests it; after a refusal the probe asks again.
        if isFirst || !bucket.isWell {
            try? await bucket.probe()
            if isFirst { warn() }
            // The failed probe triggered another round, which must wait.
            guard bucket.isWell else {
                try await Task.sleep(for: Self.troublePause)
                return .more
            }
        }
        do {
            if try await removeDue() { return .more }
            let round = try await mover.round()
            mover.report(host.logger)
            return round
        } catch let trouble as BucketTrouble {
            host.logger.warning("The bucket of files has a problem.", metadata: ["bucket.trouble": "\(trouble)"])
            return .due(in: Self.troublePause)
        }
    }

    /// Deletes some due objects.
    /// - Returns: whether more may remain.
    private func removeDue() async throws -> Bool {
        let names = try await host.store.read(for: nil) {
            try BucketDeletions.due(at: .now, limit: Self.dropsAtOnce, in: $0)
        }
        for name in names {
            do {
                switch try await decision(about: name) {
                case .keep: try await host.store.write(for: nil) { try BucketDeletions.keep(name, in: $0) }
                case .remove:
                    try await bucket.delete(name)
                    try await host.store.write(for: nil) { try BucketDeletions.remove(name, in: $0) }
                }
            } catch BucketTrouble.refused(let code) {
                // The other deletions may succeed.
                try await host.store.write(for: nil) { try BucketDeletions.add(name, after: Self.refusedPause, in: $0) }
                host.logger.error("The bucket refuses to delete a file.", metadata: ["bucket.code": "\(code)"])
            }
        }
        return names.count == Self.dropsAtOnce
    }

    private func decision(about name: String) async throws -> BucketDeletions.Decision {
        let file = try await host.store.read(for: nil) { try FileTable.find(name, in: $0) }
        let size = try await home.folder.onDisk { [home] in home.folder.size(of: name) }
        return BucketDeletions.decision(
            file: file, isOnDisk: size != nil && size == file?.size, moves: bucket.configuration.moves)
    }
}
