/// FNV-1a with 64 bits (RFC 9923): the same hash in every process, unlike Swift's own hashes. A client that chooses the
/// input can create collisions.
public struct FNV1a: Sendable {
    /// The hash of the bytes added so far.
    public private(set) var hash: UInt64

    /// - Parameter hash: the hash of the preceding bytes; of none by default.
    public init(after hash: UInt64 = 0xCBF2_9CE4_8422_2325) { self.hash = hash }

    /// Adds bytes.
    public mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    /// Adds two texts, separated by a byte that no text contains.
    public mutating func add(_ first: some Sequence<UInt8>, _ second: some Sequence<UInt8>) {
        add(first)
        add(CollectionOfOne(0xFF))
        add(second)
    }

    /// The hash of these bytes.
    public static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var subject = FNV1a()
        subject.add(bytes)
        return subject.hash
    }

    /// The hash with its bits mixed (the last step of SplitMix64), for uses that depend on the high bits.
    public var mixed: UInt64 {
        var mixed = hash
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
