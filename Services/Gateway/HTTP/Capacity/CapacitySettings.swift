import Foundation
import ProcessKit

/// The limits on the gateway's memory and connections that all requests share.
struct CapacitySettings: Sendable {
    /// Limit on the bytes of all request bodies in memory.
    let bodyBytesMax: Int
    /// Share of one processor for large bodies of unauthenticated clients. Signed-in customers have another share of
    /// this size.
    let largeBodyShare: Double
    /// Limit on the bytes of all large replies and responses in memory.
    let answerBytesMax: Int
    /// Limit on the bytes of the response to one batch.
    let batchAnswerBytesMax: Int
    /// The minimum pace of a body in bytes per second; the gateway refuses a slower one.
    let bodyBytesPerSecondMin: Int
    /// A request's headers must arrive within so many seconds. For the same time a body may be slower than
    /// `bodyBytesPerSecondMin`.
    let graceSeconds: Int
    let connectionsMax: Int
    /// Limit on the connections of one address, trusted proxies excepted.
    let connectionsPerAddress: Int
    /// The gateway disconnects a client that reads nothing of its response for so many seconds.
    let stallSeconds: Int

    /// The limits do not count bodies and responses up to this size: log-ins, objects and pages of them pass under any
    /// load.
    static let smallBytes = 64 << 10

    /// - Parameter largestBody: bytes of the largest body that is accepted; the limit has room for eight of them.
    /// - Throws: `StartupProblem`.
    init(_ settings: Settings, largestBody: Int) throws(StartupProblem) {
        let bodyBytes = try settings.number("satchel.bodies.bytes.max", 1 << 20...64 << 30, default: 128 << 20)
        bodyBytesMax = max(bodyBytes, 8 * largestBody)
        let percent = try settings.number("satchel.large.bodies.percent", 1...100, default: 25)
        largeBodyShare = Double(percent * ProcessInfo.processInfo.activeProcessorCount) / 100
        answerBytesMax = try settings.number("satchel.answers.bytes.max", 64 << 20...64 << 30, default: 384 << 20)
        batchAnswerBytesMax = try settings.number(
            "satchel.batch.answer.bytes.max", 64 << 10...1 << 30, default: 32 << 20)
        bodyBytesPerSecondMin = try settings.number("satchel.body.bytes.per.second.min", 0...1 << 30, default: 4096)
        graceSeconds = try settings.number("satchel.slow.request.seconds", 1...3600, default: 15)
        stallSeconds = try settings.number("satchel.slow.answer.seconds", 1...3600, default: 30)
        connectionsMax = try settings.number("satchel.connections.max", 16...1_000_000, default: 4096)
        connectionsPerAddress = try settings.number(
            "satchel.connections.per.address", 1...1_000_000, default: max(16, connectionsMax / 4))
    }

    /// The budget of bodies: half of it is reserved for authenticated clients. The unauthenticated clients of one
    /// network get an eighth.
    func bodies() -> ByteBudget {
        ByteBudget(
            ByteShares(
                max: bodyBytesMax, unauthenticatedMax: bodyBytesMax / 2,
                shareMax: (unauthenticated: bodyBytesMax / 8, authenticated: bodyBytesMax / 2)))
    }

    /// The budget of replies and responses. One network gets at most half of it.
    func answers() -> ByteBudget {
        ByteBudget(
            ByteShares(
                max: answerBytesMax, unauthenticatedMax: answerBytesMax,
                shareMax: (unauthenticated: answerBytesMax / 2, authenticated: answerBytesMax / 2)))
    }
}
