import Compression

/// Unpacks answers in gzip.
package enum Gunzip {
    private static let bytesMax = 64 << 20

    /// - Returns: a body without gzip's first two bytes unchanged.
    package static func unpacked(_ body: [UInt8]) throws -> [UInt8] {
        guard body.starts(with: [0x1f, 0x8b]) else { return body }
        return try Inflater.unpack(body, .gzip, bytesMax: bytesMax)
    }
}
