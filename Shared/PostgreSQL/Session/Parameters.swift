import CPostgreSQL
import Glibc

/// The bound values of a statement in the server's form: binary for bytes, text for all other types. They are stored in
/// libpq's layout, so that a repeated run converts nothing.
final class Parameters {
    /// The type of each parameter; 0 lets the server infer it. Unused numbers are declared as text, because the server
    /// cannot infer their type.
    let types: [Oid]
    private let isUsed: [Bool]
    /// The memory of each value, terminated by a zero byte.
    private var buffers: [UnsafeMutableRawBufferPointer]
    private var values: [UnsafePointer<CChar>?]
    private var lengths: [Int32]
    private var formats: [Int32]

    private enum Kind: Int32 { case text, blob }

    private static let textType: Oid = 25

    convenience init(of sql: String) {
        let numbers = ParameterNumbers(of: sql)
        self.init(isUsed: (0..<numbers.count).map { numbers.used.contains($0 + 1) })
    }

    /// The parameters of the same statement, without values.
    convenience init(like other: Parameters) { self.init(isUsed: other.isUsed) }

    private init(isUsed: [Bool]) {
        self.isUsed = isUsed
        types = isUsed.map { $0 ? 0 : Self.textType }
        buffers = isUsed.map { _ in UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        values = isUsed.map { _ in nil }
        lengths = isUsed.map { _ in 0 }
        formats = lengths
    }

    deinit { for buffer in buffers { buffer.deallocate() } }

    /// Whether the statement has a parameter with this number. Numbers start at 1.
    func takes(_ number: Int32) -> Bool { isUsed.indices.contains(Int(number) - 1) && isUsed[Int(number) - 1] }

    func setNull(_ number: Int32) {
        guard takes(number) else { return }
        (values[Int(number) - 1], lengths[Int(number) - 1]) = (nil, 0)
    }

    /// - Throws: `PostgreSQLError` (22021) for a zero byte, which the server does not accept in text.
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

    /// Calls `body` with the bytes in contiguous memory.
    private func contiguous<T>(_ bytes: some Sequence<UInt8>, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        bytes.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? Array(bytes).withUnsafeBytes { body($0) }
    }

    private func set(_ bytes: UnsafeRawBufferPointer, _ kind: Kind, _ number: Int32) {
        let place = Int(number) - 1
        // An empty value needs memory too: to libpq a null pointer means NULL.
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

    /// The total size of the bound values in bytes.
    var byteCount: Int { lengths.reduce(0) { $0 + Int($1) } }

    /// Queues a run of the statement with this name; libpq copies the bound values.
    /// - Returns: whether libpq accepted it.
    func send(_ name: String, _ handle: OpaquePointer) -> Bool {
        PQsendQueryPrepared(handle, name, Int32(values.count), values, lengths, formats, 0) == 1
    }
}
