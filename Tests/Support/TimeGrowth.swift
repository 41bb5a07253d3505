/// Tells whether the processor time of a function grows linearly with the size of its input.
///
/// The caller measures what `next` asks for:
///
///     var growth = TimeGrowth()
///     while let multiple = growth.next { growth.add(try seconds(size * multiple)) }
///
/// Four times the size may take 5.2 times as long. If it takes longer, sixteen times the size decides, which may take
/// 32 times as long: larger inputs leave the processor's caches, and beside busy neighbours that alone can cost 1.6
/// between two sizes. For a time of a·n + b·n², the first bound is exceeded from b·n = 0.11·a and the second from
/// b·n = 0.07·a, so the second measurement finds each quadratic part that the first one found.
package struct TimeGrowth: CustomStringConvertible, Sendable {
    /// The largest ratio of times for a multiple of the size.
    private static let bounds = [4: 5.2, 16: 32]

    /// The multiple of the size to measure now; nil when the result is known.
    package private(set) var next: Int? = 1

    private let rounds: ClosedRange<Int>
    private let largest: Int
    private var round = 0
    private var larger = 4
    /// Other processes can only increase a time, so the minimum of several rounds counts.
    private var least: [Int: Double] = [:]

    /// - Parameters:
    ///   - rounds: how often each size is measured. More than the lower bound only while the ratio is too large.
    ///   - largest: 16, or 4 where a limit excludes larger inputs.
    package init(rounds: ClosedRange<Int> = 2...10, largest: Int = 16) {
        (self.rounds, self.largest) = (rounds, largest)
    }

    package var isLinear: Bool {
        guard let small = least[1], let large = least[larger], let bound = Self.bounds[larger] else { return false }
        return large <= bound * small
    }

    /// Adds a measurement of the size that `next` asked for.
    package mutating func add(_ seconds: Double) {
        guard let measured = next else { return }
        least[measured] = min(least[measured] ?? .infinity, seconds)
        guard measured != 1 else { return next = larger }
        round += 1
        if round >= rounds.lowerBound && isLinear {
            next = nil
        } else if round < rounds.upperBound {
            next = 1
        } else if larger < largest {
            (larger, round, next) = (largest, 0, 1)
        } else {
            next = nil
        }
    }

    package var description: String {
        let times = least.sorted { $0.key < $1.key }.map { "\($0.key): \(Int($0.value * 1e6)) µs" }
        return "multiples of the size and their times: \(times.joined(separator: ", "))"
    }
}
