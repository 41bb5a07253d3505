import ParseProtocol

extension Mailbox {
    /// 128 bits of FNV-1a in hexadecimal digits: short rows of one length, whatever somebody calls an address. Who
    /// finds two mailboxes of one digest can use up one's quota through the other's, which he could do directly.
    package var digest: String {
        [UInt64(14_695_981_039_346_656_037), 7_809_847_782_465_536_322].map { seed in
            let hash = address.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
            return withUnsafeBytes(of: hash.bigEndian) { $0.hex }
        }.joined()
    }
}
