import Configuration
import Foundation

/// How much of the gateway's memory and connections requests may have at once.
struct CapacitySettings: Sendable {
    /// Bytes of request bodies under way.
    let bodyBytesMax: Int
    /// Share of one processor that the large bodies of strangers may take, and as much again those of customers who are signed in.
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
    /// - Throws: for a number that cannot work.
    init(reader: ConfigReader, largestBody: Int) throws {
        func number(_ key: String, _ standard: Int, _ range: ClosedRange<Int>) throws -> Int {
            let value = reader.int(forKey: ConfigKey(key), default: standard)
            guard range.contains(value) else {
                let variable = key.replacing(".", with: "_").uppercased()
                throw ConfigurationProblem(
                    description: "\(variable) must be from \(range.lowerBound) to \(range.upperBound), not \(value).")
            }
            return value
        }
        bodyBytesMax = max(try number("satchel.bodies.bytes.max", 128 << 20, 1 << 20...64 << 30), 8 * largestBody)
        let percent = try number("satchel.large.bodies.percent", 25, 1...100)
        largeBodyShare = Double(percent * ProcessInfo.processInfo.activeProcessorCount) / 100
        answerBytesMax = try number("satchel.answers.bytes.max", 384 << 20, 64 << 20...64 << 30)
        batchAnswerBytesMax = try number("satchel.batch.answer.bytes.max", 32 << 20, 64 << 10...1 << 30)
        bodyBytesPerSecondMin = try number("satchel.body.bytes.per.second.min", 4096, 0...1 << 30)
        graceSeconds = try number("satchel.slow.request.seconds", 15, 1...3600)
        stallSeconds = try number("satchel.slow.answer.seconds", 30, 1...3600)
        connectionsMax = try number("satchel.connections.max", 4096, 16...1_000_000)
        connectionsPerAddress = try number(
            "satchel.connections.per.address", max(16, connectionsMax / 4), 1...1_000_000)
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
