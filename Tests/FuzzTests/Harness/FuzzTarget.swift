import ParseProtocol

/// Code that takes bytes from outside, and the properties that must hold for all inputs.
protocol FuzzTarget: Sendable {
    /// The name of the corpus folder and of the argument to scripts/fuzz.
    var name: String { get }
    /// Number of inputs in `scripts/test`, for about two seconds per target.
    var testInputs: Int { get }
    /// Strings that mutations insert, in addition to random bytes.
    var dictionary: [String] { get }
    /// The maximum time for one input, as measured by `spent`.
    var timeLimit: Duration { get }
    /// The clock for the time limit: processor time, because a busy machine must not make an input slow. A target that
    /// waits for other processes must use the wall clock.
    var spent: Duration { get }
    /// Allowed memory growth in bytes after the first tenth of a long run. A leak per input would exceed it.
    var growthBytesMax: Int { get }

    /// True if `spent` measures only the input's time, so that times of several sizes are comparable.
    var measuresGrowth: Bool { get }

    /// A new, mostly valid input.
    func generate(_ random: inout Seeded) -> [UInt8]

    /// Runs the input.
    /// - Returns: a word that describes the outcome. Inputs with new words are kept and mutated further.
    /// - Throws: any error that violates a property, preferably `Violation`.
    func run(_ input: [UInt8]) async throws -> String

    /// The memory of the tested processes, in bytes.
    var memory: Int { get }
}

extension FuzzTarget {
    var dictionary: [String] { [] }
    var timeLimit: Duration { .seconds(5) }
    var spent: Duration { ProcessorTime.ofThisProcess }
    var growthBytesMax: Int { 64 << 20 }
    var measuresGrowth: Bool { true }
    var memory: Int { Memory.ofProcess("self") }
}

/// The error that a property does not hold.
struct Violation: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ description: @autoclosure () -> String) throws {
    if !condition { throw Violation(description()) }
}
