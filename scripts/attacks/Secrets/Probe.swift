import ParseProtocol
import SuiteClient

/// A way of asking about a secret, of which the answer or its time might tell whether a guess is right.
struct Probe: Sendable {
    enum Guess: Sendable {
        /// The secret's beginning: the attacker goes on from what is known.
        case beginning
        /// All of the secret, with all but one character known: more than any attacker has.
        case whole
    }

    let name: String
    /// The secrets that exist.
    let secrets: [String]
    /// Characters at the start that everybody knows.
    let known: Int
    let alphabet: [Character]
    let guess: Guess
    /// The condition that finds rows for which a guess is right.
    let request: @Sendable (_ guess: String) -> Request

    /// A guess at the character of one place.
    func guess(_ character: Character, at place: Int, of secret: String) -> String {
        var characters = Array(secret)
        characters[place] = character
        return String(guess == .beginning ? characters[...place] : characters[...])
    }

    /// The secrets whose hits and misses are compared, and those to be learnt: others, so that no guess at them is old.
    var compared: ArraySlice<String> { secrets.prefix(max(1, secrets.count / 2)) }
    var learnt: [String] { Array(secrets.suffix(max(1, secrets.count / 2))) }

    /// The places of a secret that may be guessed at.
    var places: Range<Int> { known..<(secrets.first?.count ?? known) }
}

extension Probe {
    /// Every guess several times in one condition: what a right one costs counts as often.
    static let repetitions = 20

    static func any(_ condition: (_ number: Int) -> JSON) -> JSON { ["$or": .array((0..<repetitions).map(condition))] }

    /// A pattern that begins with a guess and, where that is right, goes back and forth until the engine's own limit.
    static func pattern(_ guess: String, _ characters: String, _ number: Int) -> JSON {
        ["$regex": .string("^(?=\\Q\(guess)\\E)r?:?\\+?((([\(characters)]{1,9})+)+)+(?#\(number))[^\(characters)]")]
    }

    /// Everything that begins with a guess.
    static func range(_ guess: String) -> JSON {
        ["$gte": .string(guess), "$lt": .string(guess + "\u{7F}")]
    }
}
