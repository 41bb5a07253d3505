import CPostgreSQL
import Glibc

/// The values bound to the parameters of a statement, as the server takes it: bytes as they are, all else as text. They
/// are kept in the form in which libpq takes them, so that a run makes nothing of them again.
final class Parameters {
    /// The type of each parameter: 0 where the server infers it. Of a number that the SQL does not use it cannot.
    let types: [Oid]
    private let isUsed: [Bool]
    /// The memory of each value, with a zero byte behind it.
    private var buffers: [UnsafeMutableRawBufferPointer]
    private var values: [UnsafePointer<CChar>?]
    private var lengths: [Int32]
    private var formats: [Int32]

    private enum Kind: Int32 { case text, blob }

    private static let textType: Oid = 25

    init(of sql: String) {
        let numbers = ParameterNumbers(of: sql)
        isUsed = (0..<numbers.count).map { numbers.used.contains($0 + 1) }
        types = isUsed.map { $0 ? 0 : Self.textType }
        buffers = isUsed.map { _ in UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        values = isUsed.map { _ in nil }
        lengths = isUsed.map { _ in 0 }
        formats = lengths
    }

    deinit { for buffer in buffers { buffer.deallocate() } }

    /// Whether the statement has a parameter of this number, which counts from 1.
    func takes(_ number: Int32) -> Bool { isUsed.indices.contains(Int(number) - 1) && isUsed[Int(number) - 1] }

    func setNull(_ number: Int32) {
        guard takes(number) else { return }
        (values[Int(number) - 1], lengths[Int(number) - 1]) = (nil, 0)
    }

    /// - Throws: `PostgreSQLError` (22021) for a zero byte, which the server does not keep in a text.
    func set(text: some Sequence<UInt8>, _ number: Int32) throws(PostgreSQLError) {
        guard takes(number) else { return }
        let hasZero = contiguous(text) { bytes in
            if let start = bytes.baseAddress, memchr(start, 0, bytes.count) != nil { return true }
            set(bytes, .text, number)
            return false
        }
        guard hasZero else { return }
        setNull(number)
        throw PostgreSQLError(state: "22021", message: "parameter \(number) has a zero byte, which a text must not")
    }

    func set(blob: [UInt8], _ number: Int32) {
        guard takes(number) else { return }
        contiguous(blob) { set($0, .blob, number) }
    }

    /// Of nothing too there is an address.
    private func contiguous<T>(_ bytes: some Sequence<UInt8>, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        bytes.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? Array(bytes).withUnsafeBytes { body($0) }
    }

    private func set(_ bytes: UnsafeRawBufferPointer, _ kind: Kind, _ number: Int32) {
        let place = Int(number) - 1
        if buffers[place].count <= bytes.count {
            buffers[place].deallocate()
            buffers[place] = .allocate(byteCount: max(32, bytes.count + bytes.count / 2 + 1), alignment: 1)
        }
        let buffer = buffers[place]
        buffer.copyMemory(from: bytes)
        buffer[bytes.count] = 0
        values[place] = UnsafePointer(buffer.baseAddress?.assumingMemoryBound(to: CChar.self))
        lengths[place] = Int32(clamping: bytes.count)
        formats[place] = kind.rawValue
    }

    /// The bytes of what is bound.
    var byteCount: Int { lengths.reduce(0) { $0 + Int($1) } }

    /// Queues a run of the statement of that name; libpq copies what is bound.
    /// - Returns: whether it took it.
    func send(_ name: String, _ handle: OpaquePointer) -> Bool {
        PQsendQueryPrepared(handle, name, Int32(values.count), values, lengths, formats, 0) == 1
    }
}
