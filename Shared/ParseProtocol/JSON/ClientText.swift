extension JSON {
    /// JSON as a client sent it.
    /// - Throws: `.invalidJSON` (107) with a text for the client.
    public init(clientText: [UInt8]) throws(ParseError) {
        do {
            try self.init(parsing: clientText)
        } catch .tooDeep {
            throw ParseError(.invalidJSON, "The JSON is nested deeper than \(JSON.depthMax) levels.")
        } catch .tooManyValues {
            throw ParseError(.invalidJSON, "The JSON has more than \(JSON.valuesMax) values.")
        } catch {
            throw ParseError(.invalidJSON, "The body is not valid JSON.")
        }
    }
}
