import CPostgreSQL

/// The values bound to the parameters of a statement, as the server takes it: bytes as they are, all else as text.
struct Parameters {
    /// The type of each parameter: 0 where the server infers it. Of a number that the SQL does not use it cannot.
    let types: [Oid]
    private var slots: [Slot]

    private struct Slot {
        let isUsed: Bool
        var kind = Kind.null
        /// Text ends with a zero byte.
        var bytes: [UInt8] = []
        var length: Int { kind == .text ? bytes.count - 1 : bytes.count }
    }

    private enum Kind { case null, text, blob }

    private static let textType: Oid = 25

    init(of sql: String) {
        let numbers = ParameterNumbers(of: sql)
        slots = (0..<numbers.count).map { Slot(isUsed: numbers.used.contains($0 + 1)) }
        types = slots.map { $0.isUsed ? 0 : Self.textType }
    }

    /// Whether the statement has a parameter of this number, which counts from 1.
    func takes(_ number: Int32) -> Bool { slots.indices.contains(Int(number) - 1) && slots[Int(number) - 1].isUsed }

    mutating func setNull(_ number: Int32) {
        guard takes(number) else { return }
        slots[Int(number) - 1].kind = .null
        slots[Int(number) - 1].bytes.removeAll(keepingCapacity: true)
    }

    /// - Throws: `PostgreSQLError` (22021) for a zero byte, which the server does not keep in a text.
    mutating func set(text: some Sequence<UInt8>, _ number: Int32) throws(PostgreSQLError) {
        guard takes(number) else { return }
        set(text, .text, number)
        guard !slots[Int(number) - 1].bytes.contains(0) else {
            setNull(number)
            throw PostgreSQLError(state: "22021", message: "parameter \(number) has a zero byte, which a text must not")
        }
        slots[Int(number) - 1].bytes.append(0)
    }

    mutating func set(blob: [UInt8], _ number: Int32) {
        guard takes(number) else { return }
        set(blob, .blob, number)
    }

    private mutating func set(_ bytes: some Sequence<UInt8>, _ kind: Kind, _ number: Int32) {
        slots[Int(number) - 1].kind = kind
        slots[Int(number) - 1].bytes.removeAll(keepingCapacity: true)
        slots[Int(number) - 1].bytes.append(contentsOf: bytes)
    }

    /// The bytes of what is bound.
    var byteCount: Int { slots.reduce(0) { $0 + $1.bytes.count } }

    /// Queues a run of the statement of that name; libpq copies what is bound.
    /// - Returns: whether it took it.
    func send(_ name: String, _ handle: OpaquePointer) -> Bool {
        // libpq wants every value to be in memory at once. Of an empty blob too it wants an address.
        var memory: [UInt8] = [0]
        var starts: [Int] = []
        memory.reserveCapacity(byteCount + 2)
        for slot in slots {
            starts.append(memory.count)
            memory += slot.bytes
        }
        memory.append(0)
        let lengths = slots.map { Int32(clamping: $0.length) }
        let formats: [Int32] = slots.map { $0.kind == .blob ? 1 : 0 }
        return memory.withUnsafeBytes { memory in
            let base = memory.bindMemory(to: CChar.self).baseAddress
            let values = zip(slots, starts).map { slot, start in slot.kind == .null ? nil : base.map { $0 + start } }
            return PQsendQueryPrepared(handle, name, Int32(slots.count), values, lengths, formats, 0) == 1
        }
    }
}
