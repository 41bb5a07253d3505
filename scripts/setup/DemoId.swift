/// The objectIds of the demo's objects. They follow from what the object is, so that a repeated load finds it without a
/// mark in it.
enum DemoId {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    /// As long as the ids that Satchel makes.
    private static let length = 10

    /// The id of a row of the shop's file.
    /// - Parameter key: the row's.
    static func of(_ className: String, _ key: String) -> String {
        // FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): the same on every machine, unlike Swift's own hashes.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(className)/\(key)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        var random = SplitMix64(state: hash)
        var number = random.next()
        var id: [UInt8] = []
        for _ in 0..<length {
            id.append(alphabet[Int(number % UInt64(alphabet.count))])
            number /= UInt64(alphabet.count)
        }
        return String(decoding: id, as: UTF8.self)
    }
}
