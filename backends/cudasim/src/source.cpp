#include "source.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace sim {

namespace {

bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

struct Token {
    size_t begin, end;
    bool word;
};

std::vector<Token> tokens(const std::string &s) {
    std::vector<Token> result;
    for (size_t i = 0; i < s.size();) {
        if (isspace((unsigned char)s[i])) {
            ++i;
        } else if (is_word(s[i])) {
            size_t j = i;
            while (j < s.size() && is_word(s[j])) ++j;
            result.push_back({i, j, true});
            i = j;
        } else {
            result.push_back({i, i + 1, false});
            ++i;
        }
    }
    return result;
}

struct Reader {
    const std::string &s;
    std::vector<Token> t;
    explicit Reader(const std::string &text) : s(text), t(tokens(text)) {}
    bool is(size_t i, const char *what) const {
        if (i >= t.size()) return false;
        size_t n = strlen(what);
        return t[i].end - t[i].begin == n && s.compare(t[i].begin, n, what) == 0;
    }
    std::string text(size_t i) const { return s.substr(t[i].begin, t[i].end - t[i].begin); }
    // The token after the bracket that closes the one at i.
    size_t after_brackets(size_t i) const {
        int depth = 0;
        for (; i < t.size(); ++i) {
            if (is(i, "(") || is(i, "[") || is(i, "{")) ++depth;
            if (is(i, ")") || is(i, "]") || is(i, "}")) --depth;
            if (depth == 0) return i + 1;
        }
        return i;
    }
};

// What encloses each token: namespaces and extern "C" are looked through, anything else is the inside of something.
struct Scopes {
    struct Scope {
        bool transparent;
        std::string name;
    };
    std::vector<Scope> open;
    void enter(const Reader &r, size_t brace) {
        Scope scope = {false, ""};
        size_t i = brace;
        if (i >= 1 && r.is(i - 1, "\"")) {  // extern "C" {
            scope.transparent = true;
        } else {
            while (i > 0 && (r.t[i - 1].word || r.is(i - 1, ":")) && !r.is(i, "namespace")) --i;
            if (r.is(i, "namespace")) {
                scope.transparent = true;
                for (size_t k = i + 1; k < brace; ++k) scope.name += r.text(k);
            }
        }
        open.push_back(scope);
    }
    void leave() {
        if (!open.empty()) open.pop_back();
    }
    bool at_top() const {
        return std::all_of(open.begin(), open.end(), [](const Scope &s) { return s.transparent; });
    }
    std::string prefix() const {
        std::string p = "::";
        for (const Scope &s : open)
            if (!s.name.empty()) p += s.name + "::";
        return p;
    }
};

bool takes_brackets(const Reader &r, size_t i) {
    return r.is(i, "__launch_bounds__") || r.is(i, "__attribute__") || r.is(i, "__align__") || r.is(i, "alignas") ||
           r.is(i, "__cluster_dims__") || r.is(i, "__maxnreg__");
}

// A change of the text; line ends in the part that goes away are kept, so that messages name the right line.
struct Edit {
    size_t begin, end;
    std::string text;
};

std::string apply(const std::string &text, std::vector<Edit> edits) {
    std::sort(edits.begin(), edits.end(), [](const Edit &a, const Edit &b) { return a.begin < b.begin; });
    std::string result;
    size_t at = 0;
    for (const Edit &e : edits) {
        if (e.begin < at) continue;
        result.append(text, at, e.begin - at);
        result += e.text;
        result.append(std::count(text.begin() + (long)e.begin, text.begin() + (long)e.end, '\n'), '\n');
        at = e.end;
    }
    return result.append(text, at, std::string::npos);
}

// `extern __shared__ T name[]...;` names the block's dynamic shared memory.
bool dynamic_shared(const Reader &r, size_t first, size_t last, bool top, Edit &edit) {
    std::string type, name, dimensions;
    size_t i = first, bracket = last;
    for (size_t k = first; k < last; ++k) {
        if (r.is(k, "[")) {
            bracket = k;
            break;
        }
    }
    if (bracket == last || bracket == first || !r.t[bracket - 1].word) return false;
    while (i < bracket - 1) {
        if (takes_brackets(r, i) && r.is(i + 1, "(")) {
            i = r.after_brackets(i + 1);
            continue;
        }
        if (!r.is(i, "extern") && !r.is(i, "__shared__") && !r.is(i, "static")) {
            type += r.text(i) + (r.is(i, ":") ? "" : " ");  // :: is two tokens
        }
        ++i;
    }
    name = r.text(bracket - 1);
    size_t rest = r.after_brackets(bracket);
    if (rest < last) dimensions = r.s.substr(r.t[rest].begin, r.t[last].begin - r.t[rest].begin);
    std::string open = dimensions.empty() ? "" : "(", close = dimensions.empty() ? "" : ")" + dimensions;
    // At file scope a reference to the pointer, since the pointer changes; in a function its value now.
    std::string declarator = top ? "*const &" : "*const ";
    edit = {r.t[first].begin, r.t[last].begin,
            (top ? "static " : "") + type + open + declarator + name + close + " = (" + type + open + declarator +
                close + ")__cudasim_place.shared"};
    return true;
}

void replace_all(std::string &text, const std::string &from, const std::string &to) {
    for (size_t i = text.find(from); i != std::string::npos; i = text.find(from, i + to.size()))
        text.replace(i, from.size(), to);
}

// CuPy's partition kernels let lanes of a warp read what others have just written, counting on lock-step: each step of
// their sort and of their merge gets a barrier before and after.
std::string with_warp_barriers(std::string text) {
    if (text.find("void bitonic_sort_step(") == std::string::npos) return text;
    std::string step = "for (ptrdiff_t j = i; j < (y - x) / 2; j += 32) {";
    std::string tail = "for (int w = k / 2; w >= 1; w /= 2) {";
    replace_all(text, step, "struct Barrier { ~Barrier() { __syncwarp(); } } barrier; __syncwarp(); " + step);
    replace_all(text, tail, "__syncwarp(); " + tail);
    return text;
}

// Inline PTX: only reading one of a few special registers, `asm("mov.u32 %0, %%laneid;" : "=r"(x))`.
bool special_register(const std::string &text, const Reader &r, size_t at, Edit &edit) {
    static const struct {
        const char *name, *value;
    } registers[] = {
        {"%%laneid", "cudasim::lane()"},
        {"%%warpid", "(cudasim::linear_thread() / 32)"},
        {"%%nwarpid", "32"},
        {"%%smid", "0"},
        {"%%nsmid", "1"},
        {"%%lanemask_eq", "(1u << cudasim::lane())"},
        {"%%lanemask_lt", "((1u << cudasim::lane()) - 1)"},
        {"%%lanemask_le", "((2u << cudasim::lane()) - 1)"},
        {"%%lanemask_gt", "~((2u << cudasim::lane()) - 1)"},
        {"%%lanemask_ge", "~((1u << cudasim::lane()) - 1)"},
        {"%%clock", "__cudasim_clock()"},
        {"%%clock64", "__cudasim_clock()"},
        {"%%globaltimer", "__globaltimer()"},
    };
    size_t open = at + 1;
    while (r.is(open, "volatile") || r.is(open, "__volatile__")) ++open;
    if (!r.is(open, "(")) return false;
    size_t after = r.after_brackets(open);
    std::string code = text.substr(r.t[open].begin, r.t[after - 1].end - r.t[open].begin);
    size_t move = code.find("mov."), name = code.find("%%"), output = code.find("\"=");
    if (move == std::string::npos || name == std::string::npos || output == std::string::npos) return false;
    size_t name_end = name + 2, from = code.find('(', output), to = code.rfind(')', code.size() - 2);
    while (name_end < code.size() && is_word(code[name_end])) ++name_end;
    if (from == std::string::npos || to == std::string::npos || to < from) return false;
    for (auto &known : registers) {
        if (code.compare(name, name_end - name, known.name) != 0) continue;
        edit = {r.t[at].begin, r.t[after - 1].end, "(" + code.substr(from, to - from + 1) + " = " + known.value + ")"};
        return true;
    }
    return false;
}

// A list of template arguments that ends with a comma, which NVIDIA's compiler lets pass; CuPy's tests have it.
void drop_last_comma(const Reader &r, std::vector<Edit> &edits) {
    for (size_t i = 1; i + 1 < r.t.size(); ++i)
        if (r.is(i, ",") && r.is(i + 1, ">") && r.t[i - 1].word) edits.push_back({r.t[i].begin, r.t[i].end, " "});
}

}  // namespace

std::string blanked(const std::string &text, bool directives) {
    std::string s = text;
    bool line_start = true;
    auto blank = [&](size_t i) {
        if (s[i] != '\n') s[i] = ' ';
    };
    for (size_t i = 0; i < s.size();) {
        char c = s[i];
        if (c == '\n') {
            line_start = true;
            ++i;
        } else if (c == '/' && i + 1 < s.size() && s[i + 1] == '/') {
            while (i < s.size() && s[i] != '\n') {
                if (s[i] == '\\' && i + 1 < s.size() && s[i + 1] == '\n') s[i++] = ' ', ++i;
                else s[i++] = ' ';
            }
        } else if (c == '/' && i + 1 < s.size() && s[i + 1] == '*') {
            size_t end = text.find("*/", i + 2);
            end = end == std::string::npos ? s.size() : end + 2;
            for (; i < end; ++i) blank(i);
        } else if (c == 'R' && i + 1 < s.size() && s[i + 1] == '"' && (i == 0 || !is_word(s[i - 1]))) {
            size_t open = text.find('(', i + 2);
            if (open == std::string::npos) break;
            std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
            size_t end = text.find(close, open);
            end = end == std::string::npos ? s.size() : end + close.size();
            for (; i < end; ++i) blank(i);
        } else if (c == '"' || (c == '\'' && !(i > 0 && isalnum((unsigned char)s[i - 1])))) {
            size_t j = i + 1;
            while (j < s.size() && s[j] != c && s[j] != '\n') {
                if (s[j] == '\\' && j + 1 < s.size()) blank(j++);
                blank(j++);
            }
            i = j + 1;
            line_start = false;
        } else if (c == '#' && line_start && directives) {
            while (i < s.size() && s[i] != '\n') {
                if (s[i] == '\\' && i + 1 < s.size() && s[i + 1] == '\n') s[i++] = ' ', ++i;
                else s[i++] = ' ';
            }
        } else {
            if (!isspace((unsigned char)c)) line_start = false;
            ++i;
        }
    }
    return s;
}

bool needs_preprocessor(const std::string &text) {
    std::string with = blanked(text, false), without = blanked(text, true);
    auto count = [](const std::string &s) {
        size_t n = 0;
        for (size_t i = s.find("__global__"); i != std::string::npos; i = s.find("__global__", i + 1)) ++n;
        return n;
    };
    // A brace that is opened in both branches of a condition is counted twice: the scopes would be wrong.
    bool balanced = std::count(without.begin(), without.end(), '{') == std::count(without.begin(), without.end(), '}');
    return count(with) != count(without) || (!balanced && count(without));
}

std::vector<KernelName> find_kernels(const std::string &text) {
    std::string code = blanked(text, true);
    std::vector<KernelName> result;
    if (code.find("__global__") == std::string::npos) return result;
    Reader r(code);
    Scopes scopes;
    size_t declaration = 0;  // where the current one begins
    for (size_t i = 0; i < r.t.size(); ++i) {
        if (r.is(i, "{")) scopes.enter(r, i), declaration = i + 1;
        if (r.is(i, "}")) scopes.leave(), declaration = i + 1;
        if (r.is(i, ";")) declaration = i + 1;
        if (!r.is(i, "__global__") || !scopes.at_top()) continue;
        bool is_template = false;
        for (size_t k = declaration; k < i; ++k) is_template |= r.is(k, "template");
        size_t k = i + 1;
        std::string bound;
        while (k < r.t.size() && !r.is(k, ";") && !r.is(k, "{")) {
            if (r.is(k, "__launch_bounds__") && r.is(k + 1, "("))
                for (size_t n = k + 2; n + 1 < r.after_brackets(k + 1) && !r.is(n, ","); ++n) bound += r.text(n) + " ";
            if (takes_brackets(r, k) && r.is(k + 1, "(")) {
                k = r.after_brackets(k + 1);
                continue;
            }
            if (r.t[k].word && r.is(k + 1, "(")) break;
            ++k;
        }
        if (k + 1 >= r.t.size() || !r.is(k + 1, "(")) continue;
        size_t after = r.after_brackets(k + 1);
        if (is_template || !r.is(after, "{")) {
            i = after - 1;
            continue;
        }
        size_t from = r.t[k + 1].end, to = r.t[after - 1].begin;
        KernelName kernel = {scopes.prefix() + r.text(k), code.substr(from, to - from), bound};
        std::replace(kernel.parameters.begin(), kernel.parameters.end(), '\n', ' ');
        result.push_back(kernel);
        i = after - 1;
    }
    return result;
}

std::string rewrite(const std::string &original) {
    std::string text = with_warp_barriers(original);
    std::string code = blanked(text, false);
    bool has_shared = code.find("__shared__") != std::string::npos;
    bool has_extents = code.find("extents<") != std::string::npos;
    bool has_assembly = code.find("asm") != std::string::npos;
    if (!has_shared && !has_extents && !has_assembly && code.find("clock") == std::string::npos) return text;
    Reader r(code);
    Scopes scopes;
    std::vector<Edit> edits;
    if (has_extents) drop_last_comma(r, edits);
    size_t declaration = 0;
    for (size_t i = 0; i < r.t.size(); ++i) {
        if (r.is(i, "{")) scopes.enter(r, i), declaration = i + 1;
        if (r.is(i, "}")) scopes.leave(), declaration = i + 1;
        if (r.is(i, ";")) declaration = i + 1;
        if (r.is(i, "clock") && r.is(i + 1, "(") && r.is(i + 2, ")") && i > 0 && !r.t[i - 1].word && !r.is(i - 1, "."))
            edits.push_back({r.t[i].begin, r.t[i].end, "__cudasim_clock"});
        Edit assembly;
        if ((r.is(i, "asm") || r.is(i, "__asm__")) && special_register(text, r, i, assembly)) edits.push_back(assembly);
        if (!r.is(i, "__shared__")) continue;
        size_t last = i, extern_at = 0, first = i;
        while (last < r.t.size() && !r.is(last, ";")) ++last;
        bool is_extern = false;
        for (size_t k = declaration; k < std::min(last, i + 3); ++k) {
            if (r.is(k, "extern") && !r.is(k + 1, "\"")) is_extern = true, extern_at = k;
            if (r.is(k, "static")) edits.push_back({r.t[k].begin, r.t[k].end, ""});
        }
        first = is_extern ? std::min(extern_at, i) : i;
        Edit edit;
        if (is_extern && last < r.t.size() && dynamic_shared(r, first, last, scopes.at_top(), edit)) {
            edits.push_back(edit);
            i = last - 1;
        }
    }
    return apply(text, edits);
}

}  // namespace sim
