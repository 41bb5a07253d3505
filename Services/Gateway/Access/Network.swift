import NIOCore
import ProcessKit

/// A set of IP addresses: one address, or an IPv4 or IPv6 network in CIDR form (`10.0.0.0/8`).
struct Network: Sendable {
    private let bytes: [UInt8]
    private let prefixBits: Int

    /// - Throws: `StartupProblem` for any other text.
    init(_ text: String) throws {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let bytes = Self.bytes(of: try? SocketAddress(ipAddress: String(parts[0]), port: 0))
        else {
            throw StartupProblem("\"\(text)\" is not an IP address or network.")
        }
        let prefix = parts.count == 2 ? Int(parts[1]) : bytes.count * 8
        guard let prefix, (0...bytes.count * 8).contains(prefix) else {
            throw StartupProblem("\"\(text)\" has no valid prefix length.")
        }
        self.bytes = bytes
        prefixBits = prefix
    }

    /// A comma-separated list of networks.
    static func list(_ text: String) throws -> [Network] {
        try text.split(separator: ",").map { try Network($0.filter { $0 != " " }) }
    }

    /// The bytes by which rate limits distinguish clients: an IPv4 address, or the first 64 bits of an IPv6 address,
    /// which a provider gives to one subscriber.
    static func clientBytes(_ address: SocketAddress) -> [UInt8] {
        let bytes = bytes(of: address) ?? []
        return bytes.count == 16 ? Array(bytes.prefix(8)) : bytes
    }

    /// `clientBytes` as text, by which services count quotas: 8 or 16 hexadecimal digits, empty without an address.
    static func clientNetwork(_ address: SocketAddress?) -> String {
        switch address {
        case .v4(let address): return digits(UInt64(UInt32(bigEndian: address.address.sin_addr.s_addr)), count: 8)
        case .v6:
            guard let address else { return "" }
            let bytes = clientBytes(address)
            return digits(bytes.reduce(0) { $0 << 8 | UInt64($1) }, count: bytes.count * 2)
        default: return ""
        }
    }

    private static func digits(_ number: UInt64, count: Int) -> String {
        String(unsafeUninitializedCapacity: count) { output in
            for index in 0..<count { output[index] = hexDigits[Int(number >> UInt64(4 * (count - 1 - index)) & 15)] }
            return count
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)

    func contains(_ address: SocketAddress?) -> Bool {
        guard let other = Self.bytes(of: address), other.count == bytes.count else { return false }
        return (0..<prefixBits).allSatisfy { bit in
            let mask: UInt8 = 0x80 >> UInt8(bit % 8)
            return bytes[bit / 8] & mask == other[bit / 8] & mask
        }
    }

    private static func bytes(of address: SocketAddress?) -> [UInt8]? {
        switch address {
        case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { [UInt8]($0) }
        case .v6(let address): unmapped(withUnsafeBytes(of: address.address.sin6_addr) { [UInt8]($0) })
        default: nil
        }
    }

    /// Maps `::ffff:a.b.c.d` to its IPv4 address: a listener on `::` sees IPv4 clients in that form.
    private static func unmapped(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: mappedPrefix) ? Array(bytes.dropFirst(mappedPrefix.count)) : bytes
    }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
}
