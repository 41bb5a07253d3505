import ParseProtocol

extension Mailbox {
    /// 128 bits of FNV-1a in hexadecimal: short rows of fixed length for any address. An attacker who finds two
    /// mailboxes with the same digest can use up the quota of one through the other, but can also do so directly.
    package var digest: String {
        [UInt64(14_695_981_039_346_656_037), 7_809_847_782_465_536_322].map { seed in
            let hash = address.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
            return withUnsafeBytes(of: hash.bigEndian) { $0.hex }
        }.joined()
    }
}
