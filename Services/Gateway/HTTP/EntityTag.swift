/// The `ETag` of a response: a hash of all bytes of its body. A client whose copy is current gets 304.
///
/// Two different texts have the same tag by chance once in 2^64 times, far less often than networks and memories err. A
/// client that forces a collision could only hide a change to its own object, so the hash needs no secret and the tags
/// survive a restart of the gateway.
enum EntityTag {
    /// The tag with its quotes (RFC 9110, section 8.8.3).
    static func of(_ body: [UInt8]) -> String {
        var number = hash(body)
        return String(unsafeUninitializedCapacity: 18) { text in
            text[0] = UInt8(ascii: "\"")
            text[17] = UInt8(ascii: "\"")
            for index in stride(from: 16, to: 0, by: -1) {
                let digit = UInt8(truncatingIfNeeded: number & 0xF)
                text[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                number >>= 4
            }
            return 18
        }
    }

    /// Whether an `If-None-Match` names the tag. The comparison is the weak one (RFC 9110, section 13.1.2): a proxy
    /// that compresses makes tags weak.
    /// - Parameter header: nil names no tag.
    static func isNamed(_ tag: String, in header: String?) -> Bool {
        guard let header else { return false }
        if header == tag { return true }
        return header.utf8.split(separator: UInt8(ascii: ",")).contains { part in
            var name = part.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            while let last = name.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") {
                name = name.dropLast()
            }
            if name.elementsEqual("*".utf8) { return true }
            if name.starts(with: "W/".utf8) { name = name.dropFirst(2) }
            return name.elementsEqual(tag.utf8)
        }
    }

    /// Two multiplications for each 32 bytes, after wyhash (https://github.com/wangyi-fudan/wyhash, in the public
    /// domain): a page of 10 KB takes about a microsecond.
    static func hash(_ body: [UInt8]) -> UInt64 {
        body.withUnsafeBytes { bytes in
            var first = constants.0 ^ UInt64(bytes.count)
            var second = constants.1
            var position = 0
            while position &+ 32 <= bytes.count {
                first = mixed(word(bytes, position) ^ constants.2, word(bytes, position &+ 8) ^ first)
                second = mixed(word(bytes, position &+ 16) ^ constants.3, word(bytes, position &+ 24) ^ second)
                position &+= 32
            }
            // The rest, padded with zeros; the length is part of the hash.
            var rest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
            withUnsafeMutableBytes(of: &rest) { rest in
                rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position...]))
            }
            first = mixed(rest.0 ^ constants.2, rest.1 ^ first)
            second = mixed(rest.2 ^ constants.3, rest.3 ^ second)
            return mixed(first ^ constants.0, second ^ constants.1)
        }
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    private static func mixed(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = a.multipliedFullWidth(by: b)
        return product.high ^ product.low
    }

    /// Odd numbers with as many one bits as zero bits.
    private static let constants: (UInt64, UInt64, UInt64, UInt64) = (
        0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9, 0x4b33_a62e_d433_d4a3, 0x4d5a_2da5_1de1_aa47
    )
}
