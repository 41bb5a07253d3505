import Logging
import ObjectStore
import ProcessKit
import Synchronization

/// The indexes that a service makes by itself: what its readers found costly is looked at every few seconds, and one
/// index at a time is built, in steps between which other writes have their turn, or by the server beside them.
final class AutomaticIndexes: Sendable {
    /// `SATCHEL_AUTO_INDEXES`.
    private enum Mode: String, CaseIterable { case on, off }

    private let host: ServiceHost
    private let isOn: Bool
    private let limits: IndexLimits
    /// Nanoseconds at which the next index may be begun.
    private let nextAt = Mutex<Int64>(0)

    /// How soon a need or an operator's wish is noticed.
    static let interval = Duration.seconds(2)
    /// Between two steps of some milliseconds each: a third of the writer's time at most.
    private static let pause = Duration.milliseconds(20)
    /// Nanoseconds between the beginnings of two indexes: of many needs at once the others may be gone with the first.
    private static let pace: Int64 = 5_000_000_000

    /// - Throws: `StartupProblem` for settings that mean nothing.
    init(host: ServiceHost) throws {
        self.host = host
        let settings = host.configuration.settings
        isOn = try settings.choice("satchel.auto.indexes", default: Mode.on) == .on
        var limits = IndexLimits()
        limits.perClass = try settings.number("satchel.auto.indexes.max", 0...16, default: limits.perClass)
        self.limits = limits
    }

    /// One step at an index that is built or removed, or a look at what is needed.
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
        switch try await host.store.write({ [limits] in try $0.beginIndex(for: uses, limits) }) {
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
