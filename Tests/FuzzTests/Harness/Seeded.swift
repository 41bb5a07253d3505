import TestSupport

/// The tests' common generator, for all files of this module.
typealias Seeded = TestSupport.Seeded

extension Seeded {
    /// True in `percent` of 100 cases.
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// A random integer from 0 to `bound` - 1; 0 for a bound of 0.
    mutating func below(_ bound: Int) -> Int { bound <= 1 ? 0 : Int(next() % UInt64(bound)) }

    /// A random element of a non-empty array.
    mutating func pick<T>(_ elements: [T]) -> T { elements[below(elements.count)] }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
