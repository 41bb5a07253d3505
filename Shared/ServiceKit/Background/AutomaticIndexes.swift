import Logging
import ObjectStore
import ProcessKit
import Synchronization

/// Creates indexes automatically: every few seconds this work inspects the queries that readers reported as slow. It
/// builds one index at a time, either in short steps between other writes, or concurrently on the database server.
final class AutomaticIndexes: Sendable {
    /// `SATCHEL_AUTO_INDEXES`.
    private enum Mode: String, CaseIterable { case on, off }

    private let host: ServiceHost
    private let isOn: Bool
    private let limits: IndexLimits
    /// Earliest time of the next index build, in nanoseconds of the monotonic clock.
    private let nextAt = Mutex<Int64>(0)

    /// Delay until a slow query or an operator's request is noticed.
    static let interval = Duration.seconds(2)
    /// Pause between two steps of some milliseconds each, so that index builds use at most a third of the writer's
    /// time.
    private static let pause = Duration.milliseconds(20)
    /// Minimum nanoseconds between the starts of two builds: one index often resolves several slow queries.
    private static let pace: Int64 = 5_000_000_000

    /// - Throws: `StartupProblem` for invalid settings.
    init(host: ServiceHost) throws {
        self.host = host
        let settings = host.configuration.settings
        isOn = try settings.choice("satchel.auto.indexes", default: Mode.on) == .on
        var limits = IndexLimits()
        limits.perClass = try settings.number("satchel.auto.indexes.max", 0...16, default: limits.perClass)
        self.limits = limits
    }

    /// Runs one step of an index build or removal, or checks whether a new index is needed.
    func round() async throws -> BackgroundWork.Round {
        switch try await host.store.stepIndexes() {
        case .nothing: return try await begin() ? .more : .idle
        case .ready(let name): host.logger.notice("An index is ready.", metadata: ["index.name": "\(name)"])
        case .unfit(let name):
            host.logger.notice("Values are too long for an index.", metadata: ["index.name": "\(name)"])
        case .later: return .idle
        case .rows, .dropped: break
        }
        try await Task.sleep(for: Self.pause)
        return .more
    }

    private func begin() async throws -> Bool {
        let uses = host.store.shapes.wanted
        let now = Quotas.nanoseconds()
        guard isOn, !uses.isEmpty, nextAt.withLock({ now >= $0 }), host.quotas.disk?.hasRoom(at: now) ?? true else {
            return false
        }
        switch try await host.store.write(for: nil, { [limits] in try $0.beginIndex(for: uses, limits) }) {
        case .nothing: return false
        case .begun(let className, let name):
            nextAt.withLock { $0 = now + Self.pace }
            host.logger.notice(
                "An index is being built.", metadata: ["class.name": "\(className)", "index.name": "\(name)"])
            return true
        case .unfit(let shapes):
            host.store.shapes.forget(shapes)
            return false
        }
    }
}
