import Foundation
import ProcessKit

/// The bounds of the gateway's memory and connections that requests may have at once.
struct CapacitySettings: Sendable {
    /// Bytes of request bodies under way.
    let bodyBytesMax: Int
    /// Share of one processor that the large bodies of strangers may take, and as much again those of customers who are
    /// signed in.
    let largeBodyShare: Double
    /// Bytes of large answers under way.
    let answerBytesMax: Int
    /// Bytes of the answer to one batch.
    let batchAnswerBytesMax: Int
    /// Bytes a second below which a body is too slow.
    let bodyBytesPerSecondMin: Int
    /// Seconds that a request's headers may take, and a body may be slow for.
    let graceSeconds: Int
    let connectionsMax: Int
    /// Connections of one address that is no proxy of ours.
    let connectionsPerAddress: Int
    /// Seconds after which a client that takes nothing of its answer is given up.
    let stallSeconds: Int

    /// Bodies and answers up to this size always pass: log-ins, objects and pages of them go on under any load.
    static let smallBytes = 64 << 10

    /// - Parameter largestBody: bytes of the largest body that is taken in; there is room for eight of them.
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

    /// Half of the bodies is kept for those who are signed in; a network's strangers have an eighth of all.
    func bodies() -> ByteBudget {
        ByteBudget(
            ByteShares(
                max: bodyBytesMax, strangersMax: bodyBytesMax / 2,
                shareMax: (strangers: bodyBytesMax / 8, known: bodyBytesMax / 2)))
    }

    /// Answers of one network are at most half of all.
    func answers() -> ByteBudget {
        ByteBudget(
            ByteShares(
                max: answerBytesMax, strangersMax: answerBytesMax,
                shareMax: (strangers: answerBytesMax / 2, known: answerBytesMax / 2)))
    }
}
