import Foundation
import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// The background work with the bucket, which only the writer does: it removes objects that are due, moves files
/// between disk and bucket, and looks whether a bucket with trouble is well again. One thing after the other, so that
/// no object is removed while it is written.
final class BucketKeeper: Sendable {
    private let host: ServiceHost
    private let home: FileHome
    private let bucket: FileBucket
    private let mover: FileMover
    private let wakeUp = WakeUp()
    private let isWriter = Mutex(false)

    /// Between two looks at a bucket with trouble, and so the time by which `/health` may be behind at its end.
    private static let troublePause = Duration.seconds(2)
    /// Otherwise: a removal wakes it.
    private static let pause = Duration.seconds(30)
    /// Removals of a round; each is a request.
    private static let dropsAtOnce = 20
    /// Until a removal is tried again that the bucket refused.
    private static let refusedPause = Duration.seconds(600)

    init(host: ServiceHost, home: FileHome, bucket: FileBucket) {
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
        bucket.whenTroubled(tell) { work.ring() }
    }

    /// Tells the gateway what is wrong. Only the writer does: it is the one that finds out when that is over.
    private func warn() {
        guard isWriter.withLock({ $0 }) else { return }
        host.bus.setWarning(bucket.trouble.map { "\($0)" } ?? "")
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

    /// An object became due.
    func wake() { wakeUp.ring() }

    private func round() async throws -> BackgroundWork.Round {
        let isFirst = isWriter.withLock { isWriter in
            defer { isWriter = true }
            return !isWriter
        }
        // While it is away one request from time to time finds out; a refusal is asked about anew.
        if isFirst || !bucket.isWell {
            try? await bucket.probe()
            if isFirst { warn() }
            // A probe that failed rang for another one, which is to wait.
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
            host.logger.warning("The bucket of files has trouble.", metadata: ["bucket.trouble": "\(trouble)"])
            return .due(in: Self.troublePause)
        }
    }

    /// Removes some objects that are due.
    /// - Returns: whether there may be more.
    private func removeDue() async throws -> Bool {
        let names = try await host.store.read {
            try BucketDrops.due(at: .now, limit: Self.dropsAtOnce, in: $0)
        }
        for name in names {
            do {
                if try await decision(about: name) == .remove { try await bucket.delete(name) }
                try await host.store.write { try BucketDrops.remove(name, in: $0) }
            } catch BucketTrouble.refused(let code) {
                // Others may go.
                try await host.store.write { try BucketDrops.add(name, after: Self.refusedPause, in: $0) }
                host.logger.error("The bucket removes no file.", metadata: ["bucket.code": "\(code)"])
            }
        }
        return names.count == Self.dropsAtOnce
    }

    private func decision(about name: String) async throws -> BucketDrops.Decision {
        let file = try await host.store.read { try FileTable.find(name, in: $0) }
        let size = try await home.folder.onDisk { [home] in home.folder.size(of: name) }
        return BucketDrops.decision(
            file: file, isOnDisk: size != nil && size == file?.size, moves: bucket.configuration.moves)
    }
}
