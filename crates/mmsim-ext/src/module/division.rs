//! Division as BPF has it: by 0 it gives 0, the remainder is the dividend, and nothing traps.
//!
//! WebAssembly traps instead. So each division whose divisor is no constant becomes a call of one of
//! eight functions, added behind those of the module, which look at the divisor first. Numbers of
//! functions and addresses of data stay what they were.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ExportKind, ExportSection, Function, FunctionSection, ImportSection,
    Instruction, Module, TypeSection, ValType,
};
use wasmparser::{
    CodeSectionReader, ExportSectionReader, FunctionSectionReader, ImportSectionReader,
    TypeSectionReader,
};
use wasmparser::{Operator, Parser, TypeRef};

/// A division: of 64 bits, of signed numbers, and for the remainder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Division {
    wide: bool,
    signed: bool,
    remainder: bool,
}

impl Division {
    /// The eight, by their numbers.
    fn all() -> impl Iterator<Item = Division> {
        (0..8u32).map(|i| Division { wide: i & 4 != 0, signed: i & 2 != 0, remainder: i & 1 != 0 })
    }

    /// The number of the division that an instruction is.
    fn of(operator: &Operator<'_>) -> Option<u32> {
        match operator {
            Operator::I32DivU => Some(0),
            Operator::I32RemU => Some(1),
            Operator::I32DivS => Some(2),
            Operator::I32RemS => Some(3),
            Operator::I64DivU => Some(4),
            Operator::I64RemU => Some(5),
            Operator::I64DivS => Some(6),
            Operator::I64RemS => Some(7),
            _ => None,
        }
    }

    fn instruction(self) -> Instruction<'static> {
        match (self.wide, self.signed, self.remainder) {
            (false, false, false) => Instruction::I32DivU,
            (false, false, true) => Instruction::I32RemU,
            (false, true, false) => Instruction::I32DivS,
            (false, true, true) => Instruction::I32RemS,
            (true, false, false) => Instruction::I64DivU,
            (true, false, true) => Instruction::I64RemU,
            (true, true, false) => Instruction::I64DivS,
            (true, true, true) => Instruction::I64RemS,
        }
    }

    fn kind(self) -> ValType {
        if self.wide { ValType::I64 } else { ValType::I32 }
    }

    /// `b == 0 ? (remainder ? a : 0) : b == -1 ? (remainder ? 0 : -a) : a op b`; the middle only of
    /// signed numbers, where the least one by -1 would trap.
    fn function(self) -> Function {
        use Instruction::*;
        let number = |n: i64| if self.wide { I64Const(n) } else { I32Const(n as i32) };
        let either = |wide, narrow| if self.wide { wide } else { narrow };
        let kind = BlockType::Result(self.kind());
        let zero = if self.remainder { LocalGet(0) } else { number(0) };
        let mut body = vec![LocalGet(1), either(I64Eqz, I32Eqz), If(kind), zero, Else];
        if self.signed {
            body.extend([LocalGet(1), number(-1), either(I64Eq, I32Eq), If(kind), number(0)]);
            if !self.remainder {
                body.extend([LocalGet(0), either(I64Sub, I32Sub)]);
            }
            body.push(Else);
        }
        body.extend([LocalGet(0), LocalGet(1), self.instruction(), End]);
        body.extend(self.signed.then_some(End));
        body.push(End);
        let mut function = Function::new([]);
        for instruction in &body {
            function.instruction(instruction);
        }
        function
    }
}

/// The module with the divisions of BPF, and with exports of these functions: number and name.
pub(crate) fn like_bpf(
    binary: &[u8],
    exports: &[(u32, String)],
) -> Result<Vec<u8>, Error<Infallible>> {
    let mut module = Module::new();
    let mut rewriter = Rewriter { exports, types: 0, functions: 0, harmless: false };
    rewriter.parse_core_module(&mut module, Parser::new(0), binary)?;
    Ok(module.finish())
}

struct Rewriter<'e> {
    exports: &'e [(u32, String)],
    types: u32,
    functions: u32,
    /// The last instruction is a constant other than 0 and -1.
    harmless: bool,
}

impl Reencode for Rewriter<'_> {
    type Error = Infallible;

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: TypeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_type_section(self, types, section)?;
        self.types = types.len();
        for kind in [ValType::I32, ValType::I64] {
            types.ty().function([kind, kind], [kind]);
        }
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for import in section.clone() {
            self.functions += u32::from(matches!(import?.ty, TypeRef::Func(_)));
        }
        utils::parse_import_section(self, imports, section)
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        self.functions += section.count();
        utils::parse_function_section(self, functions, section)?;
        for division in Division::all() {
            functions.function(self.types + u32::from(division.wide));
        }
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: ExportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_export_section(self, exports, section)?;
        for (number, name) in self.exports {
            exports.export(name, ExportKind::Func, *number);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_code_section(self, code, section)?;
        for division in Division::all() {
            code.function(&division.function());
        }
        Ok(())
    }

    fn instruction<'a>(
        &mut self,
        operator: Operator<'a>,
    ) -> Result<Instruction<'a>, Error<Infallible>> {
        let harmless = match operator {
            Operator::I32Const { value } => !matches!(value, 0 | -1),
            Operator::I64Const { value } => !matches!(value, 0 | -1),
            _ => false,
        };
        let before = std::mem::replace(&mut self.harmless, harmless);
        match Division::of(&operator) {
            Some(number) if !before => Ok(Instruction::Call(self.functions + number)),
            _ => utils::instruction(self, operator),
        }
    }
}
