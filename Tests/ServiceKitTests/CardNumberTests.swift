import ParseProtocol
import ServiceKit
import Testing

/// Card numbers are detected wherever a client could put one, with few false positives.
@Suite struct CardNumberTests {
    @Test(arguments: [
        "4242424242424242", "4000056655665556", "4222222222222", "5555555555554444", "2223003122003222",
        "378282246310005",
        "6011111111111117", "3056930009020004", "36227206271667", "3566002020360505", "6200000000000005",
        "6304000000000000", "4242 4242 4242 4242", "4242-4242-4242-4242", "4242\u{A0}4242\u{2013}4242 4242",
        "3782 822463 10005", "card:4242424242424242.", "take 12 of 4242 4242 4242 4242 12",
        "Please use 4242-424242424242", "visa4242424242424242", "card4242424242424242dec2027",
        "42424242-4242-4242-0000-000000000000", "4a424242-4242-4242-4242-42424242424 is 4242424242424242",
    ])
    func cardNumbersAreFound(_ text: String) {
        #expect(CardNumber.isPresent(in: text))
        #expect(CardNumber.isPresent(in: .object(["note": .array([.object(["a": .string(text)])])])))
    }

    @Test(arguments: [
        "", "4242", "4242424242424241", "42424242424242424242", "1700000000000", "+1 (415) 555-2671",
        "0611 22 33 44 55",
        "tok_visa", "cus_Jx7Q3v8uBkLm2n", "2024-11-21T10:00:00.000Z", "12345678-1234-4123-8123-a23456789012",
        "4a424242-4242-4242-4242-424242424242", "dashboard:4a424242-4242-4242-4242-424242424242",
        "order-4A424242-4242-4242-4242-424242424242!", "a4242424242424242bcdef0123456789",
        "sha256:e34242424242424242aab71f0123456789abcdef",
        "1234567812345670", "94110-1234", "1000001", "4242/4242/4242/4242",
        "0.4242424242424242", "-0.4242424242424242e1",
    ])
    func otherTextsAreNotTakenForCards(_ text: String) {
        #expect(!CardNumber.isPresent(in: text))
    }

    @Test func numbersAndNamesOfMembersAreLookedAtToo() {
        #expect(CardNumber.isPresent(in: ["amount": 4_242_424_242_424_242]))
        #expect(CardNumber.isPresent(in: .double(4_242_424_242_424_242)))
        #expect(CardNumber.isPresent(in: .object(["4242424242424242": true])))
        #expect(!CardNumber.isPresent(in: ["amount": 4_242, "price": 42.42, "at": 1_732_185_600_000]))
        #expect(!CardNumber.isPresent(in: .double(-1e300)))
    }

    @Test func longTextsAreLookedThroughInOneGo() {
        let digits = String(repeating: "4 ", count: 60_000)
        let time = ContinuousClock().measure { _ = CardNumber.isPresent(in: digits + "x") }
        #expect(time < .seconds(10))
        #expect(CardNumber.isPresent(in: String(repeating: "1", count: 60_000) + "x 4242424242424242"))
    }
}
