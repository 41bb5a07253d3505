import ParseProtocol
import Testing

@testable import MoveIn

@Suite struct BSONTests {
    private func value(_ type: UInt8, _ bytes: [UInt8]) throws -> BSON? {
        try BSONDocument(parsing: Built.document(Built.element(type, "x", bytes)))["x"]
    }

    private func reason(_ bytes: [UInt8]) -> String? {
        do {
            _ = try BSONDocument(parsing: bytes)
            return nil
        } catch {
            return (error as? BSONError)?.reason ?? "\(error)"
        }
    }

    @Test func eachTypeIsRead() throws {
        #expect(try value(0x01, Built.little((-2.5).bitPattern)) == .double(-2.5))
        #expect(try value(0x02, Built.string("é\0a")) == .string("é\0a"))
        #expect(try value(0x03, Built.document()) == .document(BSONDocument()))
        #expect(try value(0x04, Built.document(Built.element(0x0A, "0", []))) == .array([.null]))
        #expect(try value(0x05, Built.little(2 as Int32) + [0, 1, 2]) == .binary([1, 2]))
        let old = Built.little(6 as Int32) + [2] + Built.little(2 as Int32) + [1, 2]
        #expect(try value(0x05, old) == .binary([1, 2]))
        #expect(try value(0x06, []) == .undefined)
        #expect(try value(0x07, Array(1...12)) == .objectId("0102030405060708090a0b0c"))
        #expect(try value(0x08, [1]) == .bool(true))
        #expect(try value(0x09, Built.little(-1 as Int64)) == .date(-1))
        #expect(try value(0x0A, []) == .null)
        #expect(try value(0x0B, [97, 0, 105, 0]) == .other("a regular expression"))
        #expect(try value(0x0C, Built.string("A") + Array(1...12)) == .other("a database pointer"))
        #expect(try value(0x0D, Built.string("A")) == .other("code"))
        #expect(try value(0x0E, Built.string("A")) == .string("A"))
        let scoped = Built.string("A") + Built.document()
        #expect(try value(0x0F, Built.little(Int32(scoped.count + 4)) + scoped) == .other("code"))
        #expect(try value(0x10, Built.little(-7 as Int32)) == .int32(-7))
        #expect(try value(0x11, Built.little(1 as Int64)) == .other("an internal timestamp"))
        #expect(try value(0x12, Built.little(Int64.min)) == .int64(.min))
        #expect(try value(0x7F, []) == .other("a smallest or largest key"))
        #expect(try value(0xFF, []) == .other("a smallest or largest key"))
        for type in [0, 0x14, 0x7E, 0x80, 0xFE] as [UInt8] { #expect(throws: BSONError.self) { try value(type, []) } }
    }

    @Test(
        arguments: [
            (low: 1, high: 0x3040_0000_0000_0000, number: 1.0, isExact: true),
            (low: 125, high: 0xB03E_0000_0000_0000, number: -12.5, isExact: true),
            (low: 0x378D_8E63_FFFF_FFFF, high: 0x3041_ED09_BEAD_87C0, number: 1e34, isExact: false),
            (low: 0x378D_8E64_0000_0000, high: 0x3041_ED09_BEAD_87C0, number: 0, isExact: true),
            (low: 1, high: 0x6C10_0000_0000_0000, number: 0, isExact: true),
            (low: 1, high: 0, number: 0, isExact: false),
            (low: 0, high: 0x7800_0000_0000_0000, number: .infinity, isExact: true),
            (low: 0, high: 0xF800_0000_0000_0000, number: -.infinity, isExact: true),
        ] as [(low: UInt64, high: UInt64, number: Double, isExact: Bool)])
    func aDecimalBecomesTheNearestNumber(
        _ example: (low: UInt64, high: UInt64, number: Double, isExact: Bool)
    ) throws {
        let value = try value(0x13, Built.little(example.low) + Built.little(example.high))
        #expect(value?.number?.value == example.number)
        #expect(value?.number?.isExact == example.isExact)
    }

    @Test func aDecimalThatIsNoNumberIsNaN() throws {
        let stored = Built.little(0 as UInt64) + Built.little(0x7C00_0000_0000_0000 as UInt64)
        #expect(try value(0x13, stored) == .decimal("NaN"))
        #expect(BSON.decimal("NaN").number?.value.isNaN == true)
        #expect(BSON.decimal("0.1").number?.isExact == true)
        #expect(BSON.decimal("0.12345678901234568").number?.isExact == true)
        #expect(BSON.decimal("0.123456789012345678").number?.isExact == false)
    }

    @Test func wrongLengthsAreRefused() {
        let good = Built.document(Built.id("a"), Built.element(5, "b", Built.little(1 as Int32) + [0, 7]))
        #expect(reason(good) == nil)
        // Each length, with each of these values in its place.
        for position in [0, 9, 18] {
            for length in [Int32.min, -1, 0, 4, 1000, .max] {
                var bytes = good
                bytes.replaceSubrange(position..<(position + 4), with: Built.little(length))
                #expect(reason(bytes) != nil, "\(length) at \(position)")
            }
        }
        #expect(reason(good + [0]) != nil)
        #expect(reason([5, 0, 0, 0, 1]) != nil)
        #expect(reason([]) != nil)
        let code = Built.string("A") + Built.document()
        #expect(reason(Built.document(Built.element(0x0F, "x", Built.little(Int32(code.count + 3)) + code))) != nil)
        #expect(reason(Built.document(Built.element(5, "x", Built.little(5 as Int32) + [2, 9, 0, 0, 0, 1]))) != nil)
    }

    @Test func hostileTextsAndNamesAreRefused() {
        #expect(reason(Built.document(Built.element(2, "x", [2, 0, 0, 0, 0xFF, 0]))) == "A text is not valid UTF-8.")
        #expect(reason(Built.document([0x0A, 0xC0, 0x80, 0])) == "A text is not valid UTF-8.")
        #expect(reason(Built.document(Built.id("a"), Built.id("b"))) == #"The name "_id" is there twice."#)
        let marks = String(repeating: "\u{301}\u{316}", count: 1000)
        #expect(reason(Built.document(Built.element(0x0A, marks, [])))?.contains("combining marks") == true)
        #expect(reason(Built.document(Built.element(8, "x", [2]))) == "A Boolean is neither 0 nor 1.")
        let long = String(repeating: "k", count: 1 << 20)
        #expect(reason(Built.document(Built.element(0x0A, long, []))) == nil)
    }

    @Test(arguments: [3, 4] as [UInt8]) func documentsNestNoDeeperThanTheLimit(_ type: UInt8) {
        #expect(reason(Built.nested(BSONDocument.depthMax, type: type)) == nil)
        #expect(reason(Built.nested(BSONDocument.depthMax + 1, type: type))?.contains("nested deeper") == true)
        #expect(reason(Built.nested(200, type: type))?.contains("nested deeper") == true)
    }

    @Test func everyCutAndEveryChangedByteIsHarmless() throws {
        let whole = try content("\(fixtures)/mongo/dump/shop/Item.bson")
        let length = Int(whole[0]) | Int(whole[1]) << 8
        let document = Array(whole[..<length])
        #expect(reason(document) == nil)
        for count in 0..<length { #expect(reason(Array(document[..<count])) != nil) }
        for position in 0..<length {
            var bytes = document
            bytes[position] ^= 0x81
            _ = reason(bytes)
        }
    }
}
