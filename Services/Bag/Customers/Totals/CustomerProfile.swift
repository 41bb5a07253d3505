import Foundation
import ParseProtocol

/// How operators find a customer: the name, address and phone number of the newest order, or of the account when it
/// was changed or the order lacks them.
struct CustomerProfile: Sendable, Equatable {
    private(set) var name = ""
    var email = ""
    private(set) var phone = ""
    private(set) var city = ""
    private(set) var zipcode = ""

    /// An import may bring longer texts.
    private static let charactersMax = 200
    private static let wordCharactersMax = 40
    private static let wordsMax = 40

    init() {}

    /// The profile that an order gives its customer.
    init(order: JSON) {
        self.init(person: order["shippingAddress"] ?? [:])
        email = Self.text(order, "email")
    }

    /// - Parameter person: an address, or the contact of an account (`CustomerContacts.contacts`).
    init(person: JSON) {
        let both = ["firstName", "lastName"].map { Self.text(person, $0) }.filter { !$0.isEmpty }
        name = both.isEmpty ? Self.text(person, "name") : both.joined(separator: " ")
        email = Self.text(person, "email")
        phone = Self.text(person, "phone")
        city = Self.text(person, "city")
        zipcode = Self.text(person, "zipcode")
    }

    private static func text(_ object: JSON, _ name: String) -> String {
        String((object[name]?.stringValue ?? "").prefix(charactersMax))
    }

    /// Takes the values of a newer profile. A value that it lacks is kept.
    mutating func update(with newer: CustomerProfile) {
        if !newer.name.isEmpty { name = newer.name }
        if !newer.email.isEmpty { email = newer.email }
        if !newer.phone.isEmpty { phone = newer.phone }
        guard !newer.city.isEmpty || !newer.zipcode.isEmpty else { return }
        (city, zipcode) = (newer.city, newer.zipcode)
    }

    /// Takes the values that the profile lacks.
    mutating func complete(with other: CustomerProfile) {
        if name.isEmpty { name = other.name }
        if email.isEmpty { email = other.email }
        if phone.isEmpty { phone = other.phone }
    }

    // MARK: Search

    /// The form in which texts are compared: without letter case and diacritics.
    static func folded(_ text: String) -> String {
        // For ASCII, as in most texts, this gives Foundation's result in a sixtieth of the time.
        if isASCII(text) { return text.lowercased() }
        return FoldedLetters.folded(text) { part in
            part.precomposedStringWithCanonicalMapping
                .folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        }
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    /// The words of a text in comparable form.
    static func words(of text: String) -> [String] {
        let text = folded(text)
        guard isASCII(text) else {
            // The words are stored, so they must not change with the toolchain's letters.
            let known = text.unicodeScalars.map { FoldedLetters.has($0) ? $0 : " " }
            return String(String.UnicodeScalarView(known)).split { !$0.isLetter && !$0.isNumber }
                .map { String($0.prefix(wordCharactersMax)) }
        }
        return text.utf8.split { !isLowerLetter($0) && !isDigit($0) }
            .map { String(decoding: $0.prefix(wordCharactersMax), as: UTF8.self) }
    }

    private static func isLowerLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The words by which a search finds the customer. Operators also type a phone number without its gaps.
    var words: Set<String> {
        let texts = [name, email, phone, city, zipcode, String(phone.filter(\.isNumber))]
        return Set(texts.flatMap { Self.words(of: $0) }.prefix(Self.wordsMax))
    }

    // MARK: Storage

    /// The non-empty members.
    var json: JSON {
        let members = ["name": name, "email": email, "phone": phone, "city": city, "zipcode": zipcode]
        return .object(members.filter { !$0.value.isEmpty }.mapValues(JSON.string))
    }

    /// From the column `customers.profile`.
    init(stored text: String) throws { self.init(person: try JSON(parsing: text)) }
}
