import Glibc

/// A function that reads client input, measured at one size and at four times that size.
struct Cost: Sendable, CustomStringConvertible {
    /// As in the column "input" of docs/internals/costs.md.
    let name: String
    /// The size of the smaller input, in a unit that each row chooses.
    let size: Int
    /// Creates an input of a size.
    /// - Returns: a function that runs once with that input.
    let prepare: @Sendable (Int) throws -> () throws -> Void

    init(_ name: String, _ size: Int, _ prepare: @escaping @Sendable (Int) throws -> () throws -> Void) {
        self.name = name
        self.size = size
        self.prepare = prepare
    }

    var description: String { name }

    /// The processor time in seconds for the two sizes, with the same number of repetitions.
    struct Times {
        var small: Double
        var large: Double
        var ratio: Double { large / small }
    }

    static let growth = 4
    /// The allowance for cache misses and n log n in the ratio of the times.
    static let tolerance = 1.3
    static var ratioMax: Double { Double(growth) * tolerance }
    /// Minimum time of the smaller run in seconds, so that the clock's error is negligible.
    private static let secondsMin = 0.01
    private static let roundsMin = 2
    /// Maximum number of rounds while the ratio is too large. Further rounds only remove disturbance by other
    /// processes.
    static let roundsMax = 20

    func measured(rounds: Int = Cost.roundsMax) throws -> Times {
        let small = try prepare(size)
        let large = try prepare(size * Self.growth)
        var repetitions = 1
        var times = Times(small: try Self.seconds(repetitions, small), large: .infinity)
        while times.small < Self.secondsMin {
            repetitions = max(repetitions + 1, Int(Double(repetitions) * min(16, 1.3 * Self.secondsMin / times.small)))
            times.small = try Self.seconds(repetitions, small)
        }
        for round in 1...rounds {
            times.large = min(times.large, try Self.seconds(repetitions, large))
            times.small = min(times.small, try Self.seconds(repetitions, small))
            if round >= Self.roundsMin, times.ratio <= Self.ratioMax { break }
        }
        return times
    }

    private static func seconds(_ repetitions: Int, _ run: () throws -> Void) throws -> Double {
        let start = now
        for _ in 0..<repetitions { try run() }
        return max(now - start, 1e-9)
    }

    /// Counts this thread only, because tests run concurrently.
    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Inputs.
enum Text {
    static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    /// `[e0,e1,…]`
    static func list(_ count: Int, _ element: (Int) -> String) -> [UInt8] {
        Array("[\((0..<count).map(element).joined(separator: ","))]".utf8)
    }

    /// `{m0,m1,…}`
    static func object(_ count: Int, _ member: (Int) -> String) -> [UInt8] {
        Array("{\((0..<count).map(member).joined(separator: ","))}".utf8)
    }

    /// Combining marks in an order that normalization must sort.
    static func marks(_ count: Int) -> String {
        let marks: [Unicode.Scalar] = ["\u{301}", "\u{316}", "\u{328}", "\u{345}"]
        var text = String.UnicodeScalarView()
        var seed: UInt32 = 1
        for _ in 0..<count {
            seed = seed &* 1_664_525 &+ 1_013_904_223
            text.append(marks[Int(seed >> 30)])
        }
        return String(text)
    }
}
