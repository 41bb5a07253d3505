import Foundation
import Glibc
import Synchronization

/// The highest assigned order number, in a small file beside the database, so that numbers that the database lost are
/// not assigned again. The number is written after each commit and before the customer gets the reply, so it survives a
/// crash of the process. `fdatasync` follows within 0.1 s: if the power fails before it, the file may have an earlier
/// number, but the database has the commit unless it is damaged.
package final class OrderNumberMark: Sendable {
    private struct State {
        var highest: Int64 = 0
        var descriptor: Int32 = -1
        var isSyncing = false
    }

    private let path: String
    private let state = Mutex(State())
    private let syncing = DispatchQueue(label: "satchel.order-number-mark")

    package init(path: String) { self.path = path }

    /// Digits of each write, padded with zeros, so that it overwrites the earlier number. A line break follows.
    private static let width = 20

    package struct Unusable: Error, CustomStringConvertible {
        let path: String
        let code: Int32
        package var description: String { "\(path) cannot be used: \(String(cString: strerror(code)))" }
    }

    /// The number in the file; 0 when there is no file or no number in it.
    /// - Throws: `Unusable` when the file cannot be opened or read.
    package func open() throws -> Int64 {
        try state.withLock { state in
            if state.descriptor < 0 {
                state.descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                guard state.descriptor >= 0 else { throw Unusable(path: path, code: errno) }
            }
            var bytes = [UInt8](repeating: 0, count: Self.width + 1)
            let count = pread(state.descriptor, &bytes, bytes.count, 0)
            guard count >= 0 else { throw Unusable(path: path, code: errno) }
            let digits = bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
            state.highest = max(state.highest, Int64(String(decoding: digits, as: UTF8.self)) ?? 0)
            return state.highest
        }
    }

    /// Records an assigned number; a lower one changes nothing.
    /// - Throws: `Unusable`, for example when the disk is full. The next successful call writes a higher number.
    package func record(_ number: Int64) throws {
        let mustSync = try state.withLock { state in
            guard number > state.highest, state.descriptor >= 0 else { return false }
            let digits = String(number)
            let text = Array((String(repeating: "0", count: max(0, Self.width - digits.count)) + digits + "\n").utf8)
            guard pwrite(state.descriptor, text, text.count, 0) == text.count else {
                throw Unusable(path: path, code: errno)
            }
            state.highest = number
            defer { state.isSyncing = true }
            return !state.isSyncing
        }
        guard mustSync else { return }
        syncing.asyncAfter(deadline: .now() + .milliseconds(100)) { [self] in
            let descriptor = state.withLock { state in
                state.isSyncing = false
                return state.descriptor
            }
            if descriptor >= 0 { _ = fdatasync(descriptor) }
        }
    }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }
}
