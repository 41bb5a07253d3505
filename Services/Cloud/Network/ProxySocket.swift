import Glibc

/// The socket at a path where the proxy listens, for as long as the process runs. Sandboxes have its file in them: one
/// that is made anew at the same path would be another one, which they do not see.
final class ProxySocket: Sendable {
    /// A reason why nobody can listen there.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Connections that wait to be taken.
    private static let backlog: Int32 = 256

    private let descriptor: Int32

    /// - Parameter path: its file is made anew.
    /// - Throws: when nobody can listen there.
    init(path: String) throws(Failure) {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw Failure("There is no socket", path) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard path.utf8.count < place.count else { return false }
            place.copyBytes(from: path.utf8)
            return true
        }
        guard fits else { throw Failure(description: "The path \(path) is too long.") }
        unlink(path)
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        // Whoever may start programs as this user may reach the network anyway; nobody else needs it.
        guard isBound, chmod(path, 0o600) == 0, listen(descriptor, Self.backlog) == 0 else {
            throw Failure("Nobody can listen", path)
        }
    }

    deinit { close(descriptor) }

    /// Another descriptor of it, which its taker closes.
    /// - Throws: when there is none left.
    func copy() throws(Failure) -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw Failure("The socket cannot be taken", "its proxy") }
        return copy
    }
}

extension ProxySocket.Failure {
    /// With the error of the last call.
    fileprivate init(_ what: String, _ path: String) {
        self.init(description: "\(what) at \(path): \(String(cString: strerror(errno))).")
    }
}
