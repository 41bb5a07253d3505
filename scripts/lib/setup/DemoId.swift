/// The objectIds of the demo's objects. They are derived from the content, so that a repeated load finds the objects
/// without marking them.
enum DemoId {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    /// Same length as Satchel's generated ids.
    private static let length = 10

    /// The id of a row in the shop's file.
    /// - Parameter key: the row's.
    static func of(_ className: String, _ key: String) -> String {
        // FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): the same on every machine, unlike Swift's hashes.
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
