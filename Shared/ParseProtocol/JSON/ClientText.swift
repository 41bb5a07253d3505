extension JSON {
    /// Parses JSON from a client.
    /// - Throws: `.invalidJSON` (107) with a message for the client.
    public init(clientText: [UInt8]) throws(ParseError) {
        do {
            try self.init(parsingWithMarkLimit: clientText)
        } catch .tooDeep {
            throw ParseError(.invalidJSON, "The JSON is nested deeper than \(JSON.depthMax) levels.")
        } catch .tooManyValues {
            throw ParseError(.invalidJSON, "The JSON has more than \(JSON.valuesMax) values.")
        } catch .tooManyMarks {
            throw .tooManyMarks
        } catch {
            throw ParseError(.invalidJSON, "The body is not valid JSON.")
        }
    }
}

extension String {
    /// Checks a client's text outside of JSON.
    /// - Throws: `.invalidJSON` (107).
    public func checkMarks() throws(ParseError) {
        if exceedsMarkLimit { throw .tooManyMarks }
    }
}

extension ParseError {
    fileprivate static let tooManyMarks = ParseError(
        .invalidJSON, "A text has more than \(CombiningMarks.runLimit) combining marks in a row.")
}
