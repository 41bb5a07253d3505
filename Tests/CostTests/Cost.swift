import Glibc
import TestSupport

/// A function that reads client input, measured at multiples of one size.
struct Cost: Sendable, CustomStringConvertible {
    /// As in the column "input" of docs/internals/costs.md.
    let name: String
    /// The size of the smaller input, in a unit that each row chooses.
    let size: Int
    /// The largest multiple of the size that the function's limits accept.
    let largest: Int
    /// Creates an input of a size.
    /// - Returns: a function that runs once with that input.
    let prepare: @Sendable (Int) throws -> () throws -> Void

    init(
        _ name: String, _ size: Int, largest: Int = 16,
        _ prepare: @escaping @Sendable (Int) throws -> () throws -> Void
    ) {
        self.name = name
        self.size = size
        self.largest = largest
        self.prepare = prepare
    }

    var description: String { name }

    /// Minimum time of the smaller run in seconds, so that the clock's error is negligible.
    private static let secondsMin = 0.01

    func measured(rounds: ClosedRange<Int> = 2...10) throws -> TimeGrowth {
        let small = try prepare(size)
        var repetitions = 1
        var seconds = try Self.seconds(repetitions, small)
        while seconds < Self.secondsMin {
            repetitions = max(repetitions + 1, Int(Double(repetitions) * min(16, 1.3 * Self.secondsMin / seconds)))
            seconds = try Self.seconds(repetitions, small)
        }
        var runs = [1: small]
        var growth = TimeGrowth(rounds: rounds, largest: largest)
        while let multiple = growth.next {
            let run = try runs[multiple] ?? prepare(size * multiple)
            runs[multiple] = run
            growth.add(try Self.seconds(repetitions, run))
        }
        return growth
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
