import Foundation
import MailService
import ParseProtocol
import Testing

/// Mails as sent: headers that cannot be injected, two parts, stable bytes.
@Suite struct MailMessageTests {
    static func message(
        name: String = "Ann Example", subject: String = "Your order 1000001", text: String = "Hello",
        html: String = "<p>Hello</p>"
    ) throws -> MailMessage {
        MailMessage(
            from: try #require(MailAddress("shop@shop.example", name: "Shop")),
            recipient: try #require(MailAddress("ann@shop.example", name: name)), subject: subject, text: text,
            html: html,
            date: Date(timeIntervalSince1970: 1_700_000_000), messageId: "outbox_3aco_5f1@shop.example")
    }

    static func source(_ message: MailMessage) -> String { String(decoding: message.bytes, as: UTF8.self) }

    @Test func aMailHasItsHeadersAndTwoParts() throws {
        let source = Self.source(try Self.message())
        #expect(source.hasPrefix("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\nFrom: Shop <shop@shop.example>\r\n"))
        for part in [
            "\r\nContent-Transfer-Encoding: 7bit\r\n", "\r\nTo: Ann Example <ann@shop.example>\r\n",
            "\r\nSubject: Your order 1000001\r\n",
            "\r\nMessage-ID: <outbox_3aco_5f1@shop.example>\r\n", "\r\nMIME-Version: 1.0\r\n", "multipart/alternative",
            "text/plain; charset=utf-8", "text/html; charset=utf-8", "\r\n\r\nHello\r\n--",
            "\r\n\r\n<p>Hello</p>\r\n--",
        ] {
            #expect(source.contains(part))
        }
        #expect(source.replacingOccurrences(of: "\r\n", with: "").allSatisfy { $0 != "\r" && $0 != "\n" })
        #expect(try Self.message().bytes == Self.message().bytes)
    }

    @Test(arguments: [
        "Ann\r\nBcc: x@y.example", "Ann\nBcc: x@y.example", "Ann\u{2028}Bcc: x", "Änn\r\nBcc: x@y.example",
    ])
    func lineBreaksInNamesAndSubjectsStartNoHeader(text: String) throws {
        for source in [Self.source(try Self.message(name: text)), Self.source(try Self.message(subject: text))] {
            #expect(!source.components(separatedBy: "\r\n").contains { $0.hasPrefix("Bcc") })
        }
    }

    /// Every character at every position: texts that need a change and texts that do not are distinguished correctly.
    @Test func everySignBecomesPartOfOneLine() {
        let others: [UnicodeScalar] = ["\u{85}", "\u{AD}", "\u{200F}", "\u{202E}", "\u{2029}"]
        for sign in (0...0x7F as ClosedRange<UInt8>).map({ UnicodeScalar($0) }) + others {
            let isKept = (0x20...0x7E).contains(sign.value)
            let shown = isKept ? String(sign) : " "
            #expect(HeaderText.singleLine("a\(sign)b") == "a\(shown)b", "\(sign.value)")
            for text in ["\(sign)ab", "ab\(sign)", "\(sign)"] {
                let line = HeaderText.singleLine(text)
                #expect(line == (shown == " " ? text.filter { $0.isLetter } : text), "\(sign.value)")
            }
        }
    }

    /// Joiners in Persian, Hindi and Sinhala words and in emoji, tags in flags, and a character of many scalars.
    static let joined = [
        "می\u{200C}خواهم", "علی\u{200C}رضا", "क्\u{200D}ष और र\u{200D}य", "ශ්\u{200D}රී ලංකා",
        "👨\u{200D}👩\u{200D}👧 club", "👩🏽\u{200D}❤\u{FE0F}\u{200D}💋\u{200D}👨🏿",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} wins", "🏴\u{200D}☠\u{FE0F}",
        "a" + String(repeating: "\u{308}", count: 100),
    ]

    @Test(arguments: joined) func joinersAndTagsArriveWhereWordsNeedThem(_ text: String) throws {
        #expect(HeaderText.singleLine(text) == text)
        for header in [HeaderText.unstructured(text), HeaderText.phrase(text)] {
            let words = header.components(separatedBy: "\r\n ").map { word -> String? in
                let bytes = Data(base64Encoded: String(word.dropFirst(10).dropLast(2))) ?? Data()
                return String(data: bytes, encoding: .utf8)
            }
            #expect(words.allSatisfy { $0 != nil }, "A scalar is not cut in two.")
            #expect(words.compactMap(\.self).joined() == text)
        }
        // The same for customer text that an order mail repeats, line by line.
        #expect(CustomerText.line(text, max: 200) == text)
    }

    @Test(arguments: [
        ("a\u{200D}b", "a b"), ("\u{200C}می", "می"), ("shop.\u{200D}example", "shop. example"),
        ("shop。\u{200C}example", "shop。 example"), ("می\u{202E}خ", "می خ"), ("می\u{2066}خ", "می خ"),
        ("می\u{200F}خ", "می خ"), ("x\u{E0067}\u{E007F}y", "x  y"),
        ("🏴\u{E0067}\u{E007F}\u{E0067}", "🏴\u{E0067}\u{E007F}"), ("\u{200D}\u{200C}", ""),
    ])
    func elsewhereInvisibleCharactersAndTurnsOfDirectionStayOut(_ text: String, _ line: String) {
        #expect(HeaderText.singleLine(text) == line)
    }

    static let badAddresses = [
        "", "ann", "ann@", "@shop.example", "a@b@c", "ann@shop.example\r\nBcc: x@y.example", "ann <x@y.example>",
        "a b@c.example",
        "ann@shop..example", ".ann@shop.example", "änn@shop.example", "\"ann\"@shop.example", "a,b@shop.example",
        String(repeating: "a", count: 250) + "@b.example",
    ]

    @Test(arguments: badAddresses) func anAddressThatIsNotOneIsRefused(address: String) {
        #expect(MailAddress(address, name: "Ann") == nil)
    }

    @Test func namesAreQuotedOrEncodedWhereTheyMustBe() {
        #expect(MailAddress("a@b.example", name: "")?.header == "<a@b.example>")
        #expect(MailAddress("a@b.example", name: "Ann, \"A\"")?.header == #""Ann, \"A\"" <a@b.example>"#)
        #expect(MailAddress("a@b.example", name: "Änn")?.header == "=?UTF-8?B?w4Rubg==?= <a@b.example>")
        #expect(MailAddress("a@b.example", name: "=?UTF-8?B?eA==?=")?.header.hasPrefix("\"") == true)
    }

    @Test func longHeadersAreFolded() {
        let plain = HeaderText.unstructured(Array(repeating: "word", count: 60).joined(separator: " "))
        #expect(plain.components(separatedBy: "\r\n ").count > 3)
        let encoded = HeaderText.unstructured(String(repeating: "日本語", count: 40))
        for line in encoded.components(separatedBy: "\r\n ") {
            #expect(line.utf8.count <= 75)
            #expect(line.hasPrefix("=?UTF-8?B?"))
            #expect(line.hasSuffix("?="))
            let word = Data(base64Encoded: String(line.dropFirst(10).dropLast(2))).flatMap {
                String(data: $0, encoding: .utf8)
            }
            #expect(word != nil, "A character is not cut in two.")
        }
    }

    /// People copy links from the source of a mail, where quoted-printable writes `=3D` and cuts lines.
    @Test func aLinkStaysWholeInTheSource() throws {
        let link = "https://shop.example/verify?token=3d" + String(repeating: "ab", count: 60)
        let plain = try Self.message(text: "Open\n\(link)\n", html: "<a href=\"\(link)\">Open</a>")
        #expect(Self.source(plain).components(separatedBy: link).count == 3)
        #expect(!Self.source(plain).contains("quoted-printable"))
        let german = try Self.message(text: "Öffnen\n\(link)\n", html: "<p>Öffnen</p>")
        #expect(Self.source(german).contains("quoted-printable"), "Not every mail server takes eight bits.")
        #expect(german.bytes.allSatisfy { $0 < 0x80 })
        let file = String(decoding: german.bytes(eightBit: true), as: UTF8.self)
        #expect(file.contains("Öffnen\r\n\(link)\r\n") && file.contains("Content-Transfer-Encoding: 8bit"))
    }

    @Test(arguments: ["From here", "a\nFrom here", "a=_satchel_1", "bell\u{7}", String(repeating: "x", count: 1000)])
    func whatAMailServerMayChangeIsEncoded(text: String) throws {
        #expect(Self.source(try Self.message(text: text, html: "")).contains("quoted-printable"))
    }

    @Test func quotedPrintableKeepsLinesShortAndTextWhole() {
        #expect(QuotedPrintable.encode("a=b é ") == "a=3Db =C3=A9=20")
        #expect(QuotedPrintable.encode("one\ntwo\r\nthree\t") == "one\r\ntwo\r\nthree=09")
        #expect(QuotedPrintable.encode("\rone \r\n\r\n\n") == "\r\none=20\r\n\r\n\r\n")
        #expect(QuotedPrintable.encode("") == "")
        #expect(QuotedPrintable.encode(String(repeating: "x", count: 76)) == String(repeating: "x", count: 76))
        let lines = QuotedPrintable.encode(String(repeating: "é x", count: 100)).components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 76 })
    }

    @Test func differentKeysAreDifferentMessages() {
        #expect(MessageId.of("outbox:checkout:co_1:mail") == "outbox_3acheckout_3aco_5f1_3amail")
        #expect(MessageId.of("a_3ab") != MessageId.of("a:b"))
        #expect(MessageId.of("../x")?.contains("/") == false)
        #expect(MessageId.of("") == nil)
        #expect(MessageId.of(String(repeating: "x", count: 151)) == nil)
    }

    static let amounts: [(Int64, String, String)] = [
        (350, "usd", "$3.50"), (5, "usd", "$0.05"), (0, "eur", "€0.00"), (123_456, "chf", "CHF 1234.56"),
        (350, "jpy", "¥350"),
        (1500, "kwd", "KWD 1.500"), (-350, "usd", "-$3.50"),
    ]

    @Test(arguments: amounts) func moneyIsWrittenWithItsCurrency(minorUnits: Int64, currency: String, text: String) {
        #expect(Money.text(minorUnits: minorUnits, currency: currency) == text)
    }
}
