import Foundation

/// A connection whose test controls each read and write, for clients that stop in the middle of a request.
package final class RawConnection: Sendable {
    private let descriptor: Int32

    /// - Parameters:
    ///   - source: the local address, such as 127.0.0.2.
    ///   - segmentBytes: maximum segment size. At first, the other end's socket buffers ten to twenty packets, which on
    ///     loopback may be megabytes.
    /// - Throws: when nothing listens.
    package init(
        _ suite: Suite, from source: String = "127.0.0.1", receiveBytes: Int32? = nil, segmentBytes: Int32? = nil
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var bytes = segmentBytes {
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        if var bytes = receiveBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        let port = URLComponents(string: suite.url)?.port ?? 0
        guard Self.call(bind, descriptor, source, 0), Self.call(connect, descriptor, "127.0.0.1", port) else {
            close(descriptor)
            throw NeverHappened("No connection from \(source): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32, _ host: String,
        _ port: Int
    ) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Sends as much as the other end accepts within the time.
    /// - Returns: the number of bytes sent.
    @discardableResult
    package func send(_ bytes: [UInt8], within seconds: Int = 5) -> Int {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// Closes the sending side. Data can still be received.
    package func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the end of this connection a reset (RST), as when a client's system gives it up.
    package func resetAtEnd() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    package func send(head: String) {
        send(Array("\(head)\n\n".replacingOccurrences(of: "\n", with: "\r\n").utf8))
    }

    /// The text received within the time, at most `max` bytes; nil when nothing arrived and the connection is open.
    package func read(within milliseconds: Int, max: Int = 65536) -> String? {
        guard hasInput(within: milliseconds) else { return nil }
        var buffer = [UInt8](repeating: 0, count: max)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
    }

    /// Waits for data or the end of the connection. Time in which the machine stood still does not count, because the
    /// other end stood still, too.
    private func hasInput(within milliseconds: Int) -> Bool {
        let meter = StallMeter()
        var left = milliseconds
        repeat {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if Glibc.poll(&poll, 1, Int32(left)) > 0 { return true }
            left = milliseconds - Int(meter.elapsed / .milliseconds(1))
        } while left > 0
        return false
    }

    /// Whether the other end closed the connection. Discards data received before that.
    /// - Parameter seconds: without the time in which the machine stood still.
    package func isClosed(within seconds: Int) -> Bool {
        let meter = StallMeter()
        while meter.elapsed < .seconds(seconds) {
            if read(within: 100) == "" { return true }
        }
        return false
    }

    /// Whether the connection ends with a reset (RST). Discards data received before that.
    /// - Parameter seconds: for each read.
    package func endsInReset(within seconds: Int) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while hasInput(within: 1000 * seconds) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return count < 0 && errno == ECONNRESET }
        }
        return false
    }
}
