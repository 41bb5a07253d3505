import Foundation

/// A free port on loopback, below the range that the kernel assigns to clients. While the object exists, no other test
/// reserves the port, whose server may bind it seconds later: a UDP socket with the number is the reservation, because
/// servers bind TCP alone.
final class ReservedPort: Sendable {
    let number: Int
    private let reservation: Int32

    init() throws { (number, reservation) = try Self.reserve() }

    deinit { close(reservation) }

    private static func reserve() throws -> (number: Int, reservation: Int32) {
        for _ in 0..<100 {
            let number = Int.random(in: 20000..<32000)
            guard let reservation = bound(SOCK_DGRAM, number) else { continue }
            if let probe = bound(SOCK_STREAM, number) {
                close(probe)
                return (number, reservation)
            }
            close(reservation)
        }
        throw Command.Failed(description: "No free port was found.")
    }

    /// - Returns: the descriptor of a socket with the port; nil when the port is taken.
    private static func bound(_ kind: __socket_type, _ number: Int) -> Int32? {
        let descriptor = socket(AF_INET, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(number).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
