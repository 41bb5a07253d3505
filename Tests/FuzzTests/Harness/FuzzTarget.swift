import ParseProtocol

/// Something that takes bytes from outside, and what must hold whatever the bytes are.
protocol FuzzTarget: Sendable {
    /// Names the folder of the corpus and the argument of scripts/fuzz.
    var name: String { get }
    /// Inputs of `scripts/test`, where each target has about two seconds.
    var testInputs: Int { get }
    /// Texts that mutations put in beside random bytes.
    var dictionary: [String] { get }
    /// The longest that one input may take, as `spent` counts.
    var timeLimit: Duration { get }
    /// The time that counts: of the processor, because a busy machine makes no input slow. A target that waits for
    /// other processes has to take the time of the clock.
    var spent: Duration { get }
    /// Bytes by which the memory may grow after the first tenth of a long run. What is kept per input would be more.
    var growthBytesMax: Int { get }

    /// A new input of the right form.
    func generate(_ random: inout Seeded) -> [UInt8]

    /// Runs the input.
    /// - Returns: a word on what happened. Inputs with new words are kept and mutated further.
    /// - Throws: whatever breaks a property, best as `Violation`.
    func run(_ input: [UInt8]) async throws -> String

    /// The memory of the processes that are tested, in bytes.
    var memory: Int { get }
}

extension FuzzTarget {
    var dictionary: [String] { [] }
    var timeLimit: Duration { .seconds(5) }
    var spent: Duration { ProcessorTime.ofThisProcess }
    var growthBytesMax: Int { 64 << 20 }
    var memory: Int { Memory.ofProcess("self") }
}

/// A property that does not hold.
struct Violation: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ description: @autoclosure () -> String) throws {
    if !condition { throw Violation(description()) }
}
