/// FNV-1a with 64 bits (RFC 9923): the same number in every process, where Swift's own hashes differ. Whoever chooses
/// what is hashed can make two the same.
public struct FNV1a: Sendable {
    /// The hash of what was added.
    public private(set) var hash: UInt64

    /// - Parameter hash: of what comes before; nothing by default.
    public init(after hash: UInt64 = 0xCBF2_9CE4_8422_2325) { self.hash = hash }

    /// Adds bytes behind those before.
    public mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    /// Adds two texts, with a byte between them that no text has.
    public mutating func add(_ first: some Sequence<UInt8>, _ second: some Sequence<UInt8>) {
        add(first)
        add(CollectionOfOne(0xFF))
        add(second)
    }

    /// The hash of bytes alone.
    public static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var subject = FNV1a()
        subject.add(bytes)
        return subject.hash
    }

    /// The hash with its bits mixed (the end of SplitMix64), where its high ones decide.
    public var mixed: UInt64 {
        var mixed = hash
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
