import ParseProtocol
import SuiteClient

/// A kind of request about a secret whose answer or duration might reveal whether a guess is correct.
struct Probe: Sendable {
    enum Guess: Sendable {
        /// Guesses the next character after a known prefix.
        case beginning
        /// Guesses the whole secret when all but one character are known: more than any real attacker has.
        case whole
    }

    let name: String
    /// The existing secrets.
    let secrets: [String]
    /// The number of leading characters that are public.
    let known: Int
    let alphabet: [Character]
    let guess: Guess
    /// The request whose condition matches rows when a guess is correct.
    let request: @Sendable (_ guess: String) -> Request

    /// A guess of the character at one place.
    func guess(_ character: Character, at place: Int, of secret: String) -> String {
        var characters = Array(secret)
        characters[place] = character
        return String(guess == .beginning ? characters[...place] : characters[...])
    }

    /// The secrets whose hits and misses are compared. `learnt` are the others: none of their guesses was sent before.
    var compared: ArraySlice<String> { secrets.prefix(max(1, secrets.count / 2)) }
    var learnt: [String] { Array(secrets.suffix(max(1, secrets.count / 2))) }

    /// The guessable places of a secret.
    var places: Range<Int> { known..<(secrets.first?.count ?? known) }
}

extension Probe {
    /// Repetitions of each guess within one condition, which multiply the cost of a correct one.
    static let repetitions = 20

    static func any(_ condition: (_ number: Int) -> JSON) -> JSON { ["$or": .array((0..<repetitions).map(condition))] }

    /// A pattern that starts with a guess and, if the guess is correct, backtracks until the engine's limit.
    static func pattern(_ guess: String, _ characters: String, _ number: Int) -> JSON {
        ["$regex": .string("^(?=\\Q\(guess)\\E)r?:?\\+?((([\(characters)]{1,9})+)+)+(?#\(number))[^\(characters)]")]
    }

    /// All texts that start with a guess.
    static func range(_ guess: String) -> JSON {
        ["$gte": .string(guess), "$lt": .string(guess + "\u{7F}")]
    }
}
