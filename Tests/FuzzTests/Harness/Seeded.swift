/// A random generator with a seed, so that every run can be repeated: SplitMix64,
/// https://prng.di.unimi.it/splitmix64.c.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True in `percent` of 100 cases.
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// A whole number from 0 to `bound` - 1; 0 for a bound of 0.
    mutating func below(_ bound: Int) -> Int { bound <= 1 ? 0 : Int(next() % UInt64(bound)) }

    /// One of the elements, of which there must be one.
    mutating func pick<T>(_ elements: [T]) -> T { elements[below(elements.count)] }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
